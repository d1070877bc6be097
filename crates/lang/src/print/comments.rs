//! Comments and blank lines.

use tautomer_diag::Span;

use super::super::ast::Comment;
use super::layout::Printer;

impl Printer<'_> {
    /// Writes what precedes an item: a blank line, comments, documentation. An example follows its rule directly.
    pub(super) fn item(&mut self, doc: &Option<String>, comments_up_to: u32, blank: bool) {
        let commented = self
            .comments
            .first()
            .is_some_and(|comment| comment.span.start < comments_up_to);
        if !self.out.is_empty() && (blank || commented || doc.is_some()) {
            self.text("\n");
        }
        let before = self.comments;
        self.comments_before(comments_up_to, 0);
        if let Some(last) = before[..before.len() - self.comments.len()].last() {
            let after = &self.ast.source.text[last.span.end as usize..];
            let gap = &after[..after.len() - after.trim_start().len()];
            if gap.matches('\n').count() > 1 {
                self.line(0);
            }
        }
        for line in doc.iter().flat_map(|doc| doc.split('\n')) {
            self.text(format!("/// {line}").trim_end());
            self.line(0);
        }
    }

    pub(super) fn end_item(&mut self, end: u32) {
        self.end_line(end);
        self.start_line(0);
    }

    /// At the beginning of a line, writes the comments that begin before `end`, each on its own line.
    pub(super) fn comments_before(&mut self, end: u32, indent: u32) {
        while let Some((comment, rest)) = self
            .comments
            .split_first()
            .filter(|(comment, _)| comment.span.start < end)
        {
            self.comments = rest;
            if comment.after_blank && self.may_leave_blank() {
                self.out.truncate(self.out.trim_end_matches(' ').len());
                self.line(indent);
            }
            self.comment(comment);
            self.line(indent);
        }
    }

    /// Writes the comments that are left before the end of a block.
    pub(super) fn comments_inside(&mut self, end: u32, indent: u32) {
        while let Some((comment, rest)) = self
            .comments
            .split_first()
            .filter(|(comment, _)| comment.span.start < end)
        {
            self.comments = rest;
            self.start_line(indent);
            self.comment(comment);
        }
    }

    pub(super) fn rest(&mut self, indent: u32) {
        self.start_line(indent);
        self.comments_before(u32::MAX, indent);
        self.out.truncate(self.out.trim_end().len());
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    /// Documentation that belongs to no item becomes an ordinary comment, so that it is not attached to the next item.
    pub(super) fn comment(&mut self, comment: &Comment) {
        let text = self.ast.source.slice(comment.span);
        match text.strip_prefix("///").filter(|rest| !rest.starts_with('/')) {
            Some(rest) => self.text(&format!("//{rest}")),
            None => self.text(text),
        }
    }

    /// Writes the comment on the line where something ended.
    pub(super) fn end_line(&mut self, end: u32) {
        if let Some((comment, rest)) = self.comments.split_first()
            && !comment.own_line
            && comment.span.start >= end
            && !self.ast.source.slice(Span::new(end, comment.span.start)).contains('\n')
        {
            self.comments = rest;
            self.text(" ");
            self.comment(comment);
        }
    }

    /// Begins a line unless one has just begun.
    pub(super) fn start_line(&mut self, indent: u32) {
        if !self.out.trim_end_matches(' ').ends_with('\n') && !self.out.is_empty() {
            self.line(indent);
        }
    }

    /// Begins a line; leaves one line blank where the source has blank lines.
    pub(super) fn start_statement(&mut self, start: u32, indent: u32) {
        self.start_line(indent);
        let before = self.ast.source.slice(Span::new(0, start));
        let gap = &before[before.trim_end().len()..];
        if gap.matches('\n').count() > 1 && self.may_leave_blank() {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.line(indent);
        }
    }

    pub(super) fn may_leave_blank(&self) -> bool {
        let text = self.out.trim_end_matches(' ');
        !(text.is_empty() || text.ends_with("\n\n") || ["{\n", "=>\n", ":\n"].iter().any(|end| text.ends_with(end)))
    }

    pub(super) fn has_comments(&self, span: Span) -> bool {
        self.comments
            .iter()
            .any(|comment| comment.span.start >= span.start && comment.span.start < span.end)
    }
}
