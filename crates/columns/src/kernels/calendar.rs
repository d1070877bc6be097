//! The proleptic Gregorian calendar: days since 1970-01-01 to years, months and days, and their text.

/// Days since 1970-01-01 of a date (H. Hinnant, "chrono-compatible low-level date algorithms").
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year, month and day of a number of days since 1970-01-01.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// True for years of 366 days.
pub(crate) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days of a month.
pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day of the week: 0 for Sunday.
pub(crate) fn weekday(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

/// The day of the year, from 1.
pub(crate) fn day_of_year(days: i64) -> i64 {
    days - days_from_civil(civil_from_days(days).0, 1, 1) + 1
}

/// The year and the week by ISO 8601: weeks begin on Monday, and the first one has the first Thursday.
pub(crate) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (weekday(days) + 6) % 7 + 3;
    let year = civil_from_days(thursday).0;
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// The date some months later; the last day of the month if that month is shorter.
pub(crate) fn add_months(days: i64, months: i64) -> i64 {
    let (year, month, day) = civil_from_days(days);
    let months = year.saturating_mul(12).saturating_add(month - 1).saturating_add(months);
    // Beyond this no unit of time can hold the date.
    let months = months.clamp(-12 * 300_000_000, 12 * 300_000_000);
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    days_from_civil(year, month, day.min(days_in_month(year, month)))
}

/// `2000-01-31`
pub(crate) fn format_date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `23:59:59.123`, with as many digits as the unit has.
pub(crate) fn format_time(units: i64, per_second: i64) -> String {
    let (seconds, rest) = (units.div_euclid(per_second), units.rem_euclid(per_second));
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    match per_second.ilog10() {
        0 => clock,
        digits => format!("{clock}.{rest:0width$}", width = digits as usize),
    }
}

/// Days and nanoseconds of a text such as `2000-01-31`, `2000-01-31 23:59:59.123` or `2000-01-31T23:59:59Z`.
pub(crate) fn parse_timestamp(text: &str) -> Option<(i64, i64)> {
    let text = text.trim();
    let split = text.find([' ', 'T']).unwrap_or(text.len());
    let days = parse_date(&text[..split])?;
    let rest = text.get(split + 1..).unwrap_or("").trim();
    if rest.is_empty() {
        return (split == text.len()).then_some((days, 0));
    }
    let zone = rest.find(['Z', '+', '-', ' ']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone);
    let offset = match zone.trim() {
        "" | "Z" | "UTC" | "GMT" => 0,
        zone => parse_offset(zone)?,
    };
    let nanos = parse_time(clock)? - offset * 1_000_000_000;
    let day = 86_400_000_000_000;
    Some((days + nanos.div_euclid(day), nanos.rem_euclid(day)))
}

/// Days of a text such as `2000-01-31`; a month and a day may have one digit.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut parts = body.split('-');
    let year: i64 = digits(parts.next()?, 9)?;
    let (month, day) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let year = if negative { -year } else { year };
    let valid = parts.next().is_none() && (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    valid.then(|| days_from_civil(year, month, day))
}

/// Nanoseconds of a text such as `23:59` or `23:59:59.123`.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let mut parts = text.trim().split(':');
    let (hours, minutes) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(part) => {
            let (seconds, fraction) = part.split_once('.').unwrap_or((part, ""));
            let scale = 10i64.pow(9 - u32::try_from(fraction.len()).ok().filter(|&length| length <= 9)?);
            let fraction = if fraction.is_empty() { 0 } else { digits(fraction, 9)? };
            (digits(seconds, 2)?, fraction * scale)
        }
    };
    let valid = parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 60;
    valid.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + fraction)
}

/// Seconds of an offset such as `+02:00` or `-0530`.
pub(crate) fn parse_offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let body = text[1..].replace(':', "");
    if !body.is_ascii() {
        return None;
    }
    let (hours, minutes) = match body.len() {
        1 | 2 => (digits(&body, 2)?, 0),
        4 => (digits(&body[..2], 2)?, digits(&body[2..], 2)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The words of patterns of dates, a word before those that it begins with.
const WORDS: [&str; 10] = ["YYYY", "HH24", "HH12", "MON", "YY", "MM", "DD", "HH", "MI", "SS"];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The days of a text that is written by a pattern of `YYYY`, `YY`, `MM`, `MON`, `DD`, `HH24`, `HH12`, `HH`, `MI`, `SS`;
/// `None` if the text does not fit. A letter of the pattern that is in no word is the error.
pub(crate) fn parse_date_as(text: &str, pattern: &str) -> Result<Option<i64>, char> {
    let upper = pattern.to_ascii_uppercase();
    let (mut year, mut month, mut day) = (1970, 1, 1);
    let (mut text, mut at) = (text.trim(), 0);
    while let Some(first) = pattern[at..].chars().next() {
        let Some(&word) = WORDS.iter().find(|word| upper[at..].starts_with(**word)) else {
            if first.is_alphabetic() {
                return Err(first);
            }
            let Some(rest) = text.strip_prefix(first) else {
                return Ok(None);
            };
            (text, at) = (rest, at + first.len_utf8());
            continue;
        };
        at += word.len();
        let (value, rest) = match word {
            "MON" => {
                let name = text.get(..3).unwrap_or("").to_ascii_lowercase();
                let Some(month) = MONTHS.iter().position(|month| *month == name) else {
                    return Ok(None);
                };
                (month as i64 + 1, &text[3..])
            }
            _ => {
                let width = if word == "YYYY" { 4 } else { 2 };
                let length = text.bytes().take(width).take_while(u8::is_ascii_digit).count();
                let Some(value) = digits(&text[..length], width) else {
                    return Ok(None);
                };
                (value, &text[length..])
            }
        };
        text = rest;
        let valid = match word {
            "YYYY" | "YY" => 0..=9999,
            "MM" | "MON" | "HH12" => 1..=12,
            "DD" => 1..=31,
            "HH24" | "HH" => 0..=23,
            _ => 0..=59,
        };
        if !valid.contains(&value) {
            return Ok(None);
        }
        match word {
            "YYYY" => year = value,
            "YY" => year = if value < 70 { 2000 + value } else { 1900 + value },
            "MM" | "MON" => month = value,
            "DD" => day = value,
            _ => {}
        }
    }
    let valid = text.trim().is_empty() && day <= days_in_month(year, month);
    Ok(valid.then(|| days_from_civil(year, month, day)))
}

/// A number of at most so many decimal digits.
fn digits(text: &str, at_most: usize) -> Option<i64> {
    let valid = !text.is_empty() && text.len() <= at_most && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-1_000_000..1_000_000).step_by(37) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert_eq!(parse_date(&format_date(days)), Some(days), "{}", format_date(days));
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(weekday(0), 4, "a Thursday");
        assert_eq!(iso_week(days_from_civil(2021, 1, 3)), (2020, 53));
    }

    #[test]
    fn texts_of_timestamps() {
        let of = |text| parse_timestamp(text).map(|(days, nanos)| (days, nanos / 1_000_000));
        assert_eq!(of("1970-01-02 00:00:01.5"), Some((1, 1500)));
        assert_eq!(of("1970-01-01T01:00:00+02:00"), Some((-1, 82_800_000)));
        assert_eq!(of("1970-02-30"), None);
        assert_eq!(of("1970-01-01 25:00:00"), None);
        assert_eq!(of("1970-01-01é"), None);
        assert_eq!(of("1970-01-01 00:00:00+1é2"), None);
    }

    #[test]
    fn texts_of_dates_by_patterns() {
        let of = |text, pattern| parse_date_as(text, pattern).map(|days| days.map(format_date));
        let date = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(of("31/1/24", "DD/MM/YY"), date("2024-01-31"));
        assert_eq!(of("Feb 29 2024 23:59", "mon dd yyyy HH24:MI"), date("2024-02-29"));
        assert_eq!(of("2023-02-29", "YYYY-MM-DD"), Ok(None), "no such day");
        assert_eq!(of("2023-02-2x", "YYYY-MM-DD"), Ok(None));
        assert_eq!(of("éé 2023", "MON YYYY"), Ok(None));
        assert_eq!(of("2023", "YYYYQ"), Err('Q'));
    }
}
