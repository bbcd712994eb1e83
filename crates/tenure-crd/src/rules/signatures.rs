//! What the functions of rules take and give. Types are written as letters, so that the table can be read: `B` bool, `I`
//! int, `U` uint, `D` double, `S` string, `Y` bytes, `T` timestamp, `R` duration, `L` list, `M` map, `A` anything, `O`
//! optional, `K` url, `P` address, `C` range of addresses, `Q` quantity, `V` semantic version, `F` format, `Z` authorizer, `#` the name of a type. Results add `E`
//! the items of the list, `W` the list itself, `X` a list of strings, `N` a list of ints, `_` what is not known before.

use super::types::Type;

/// A function, on what it is called (nothing, a value or a name), what it takes and what it gives.
type Row = (&'static str, &'static str, &'static str, char);

/// The functions, by name; several rows are several ways to call one.
#[rustfmt::skip]
const FUNCTIONS: &[Row] = &[
    ("path", "Z", "S", 'Z'), ("group", "Z", "S", 'Z'), ("resource", "Z", "S", 'Z'), ("subresource", "Z", "S", 'Z'),
    ("namespace", "Z", "S", 'Z'), ("name", "Z", "S", 'Z'), ("serviceAccount", "Z", "SS", 'Z'),
    ("fieldSelector", "Z", "S", 'Z'), ("labelSelector", "Z", "S", 'Z'), ("check", "Z", "S", 'Z'),
    ("allowed", "Z", "", 'B'), ("errored", "Z", "", 'B'), ("error", "Z", "", 'S'), ("reason", "Z", "", 'S'),
    ("size", "S", "", 'I'), ("size", "L", "", 'I'), ("size", "M", "", 'I'), ("size", "Y", "", 'I'),
    ("size", "", "S", 'I'), ("size", "", "L", 'I'), ("size", "", "M", 'I'), ("size", "", "Y", 'I'),
    ("contains", "S", "S", 'B'), ("startsWith", "S", "S", 'B'), ("endsWith", "S", "S", 'B'),
    ("matches", "S", "S", 'B'), ("matches", "", "SS", 'B'), ("int", "", "I", 'I'), ("int", "", "U", 'I'),
    ("int", "", "D", 'I'), ("int", "", "S", 'I'), ("int", "", "T", 'I'), ("uint", "", "I", 'U'),
    ("uint", "", "U", 'U'), ("uint", "", "D", 'U'), ("uint", "", "S", 'U'), ("double", "", "I", 'D'),
    ("double", "", "U", 'D'), ("double", "", "D", 'D'), ("double", "", "S", 'D'), ("string", "", "I", 'S'),
    ("string", "", "U", 'S'), ("string", "", "D", 'S'), ("string", "", "S", 'S'), ("string", "", "Y", 'S'),
    ("string", "", "B", 'S'), ("string", "", "T", 'S'), ("string", "", "R", 'S'), ("string", "", "P", 'S'),
    ("string", "", "C", 'S'), ("bool", "", "B", 'B'), ("bool", "", "S", 'B'), ("bytes", "", "S", 'Y'),
    ("bytes", "", "Y", 'Y'), ("timestamp", "", "S", 'T'), ("timestamp", "", "T", 'T'), ("timestamp", "", "I", 'T'),
    ("duration", "", "S", 'R'), ("duration", "", "R", 'R'), ("duration", "", "I", 'R'), ("dyn", "", "A", '_'),
    ("type", "", "A", '#'), ("getFullYear", "T", "", 'I'), ("getFullYear", "T", "S", 'I'), ("getMonth", "T", "", 'I'),
    ("getMonth", "T", "S", 'I'), ("getDate", "T", "", 'I'), ("getDate", "T", "S", 'I'),
    ("getDayOfMonth", "T", "", 'I'), ("getDayOfMonth", "T", "S", 'I'), ("getDayOfWeek", "T", "", 'I'),
    ("getDayOfWeek", "T", "S", 'I'), ("getDayOfYear", "T", "", 'I'), ("getDayOfYear", "T", "S", 'I'),
    ("getHours", "T", "", 'I'), ("getHours", "T", "S", 'I'), ("getHours", "R", "", 'I'), ("getMinutes", "T", "", 'I'),
    ("getMinutes", "T", "S", 'I'), ("getMinutes", "R", "", 'I'), ("getSeconds", "T", "", 'I'),
    ("getSeconds", "T", "S", 'I'), ("getSeconds", "R", "", 'I'), ("getMilliseconds", "T", "", 'I'),
    ("getMilliseconds", "T", "S", 'I'), ("getMilliseconds", "R", "", 'I'), ("charAt", "S", "I", 'S'),
    ("indexOf", "S", "S", 'I'), ("indexOf", "S", "SI", 'I'), ("indexOf", "L", "A", 'I'),
    ("lastIndexOf", "S", "S", 'I'), ("lastIndexOf", "S", "SI", 'I'), ("lastIndexOf", "L", "A", 'I'),
    ("join", "L", "", 'S'), ("join", "L", "S", 'S'), ("lowerAscii", "S", "", 'S'), ("upperAscii", "S", "", 'S'),
    ("replace", "S", "SS", 'S'), ("replace", "S", "SSI", 'S'), ("split", "S", "S", 'X'), ("split", "S", "SI", 'X'),
    ("substring", "S", "I", 'S'), ("substring", "S", "II", 'S'), ("trim", "S", "", 'S'), ("format", "S", "L", 'S'),
    ("reverse", "S", "", 'S'), ("strings.quote", "", "S", 'S'), ("isSorted", "L", "", 'B'), ("sum", "L", "", 'E'),
    ("min", "L", "", 'E'), ("max", "L", "", 'E'), ("slice", "L", "II", 'W'), ("distinct", "L", "", 'W'),
    ("reverse", "L", "", 'W'), ("sort", "L", "", 'W'), ("flatten", "L", "", '_'), ("flatten", "L", "I", '_'),
    ("first", "L", "", '_'), ("last", "L", "", '_'), ("lists.range", "", "I", 'N'), ("find", "S", "S", 'S'),
    ("findAll", "S", "S", 'X'), ("findAll", "S", "SI", 'X'), ("url", "", "S", 'K'), ("isURL", "", "S", 'B'),
    ("getScheme", "K", "", 'S'), ("getHost", "K", "", 'S'), ("getHostname", "K", "", 'S'), ("getPort", "K", "", 'S'),
    ("getEscapedPath", "K", "", 'S'), ("getQuery", "K", "", '_'), ("ip", "", "S", 'P'), ("ip", "C", "", 'P'),
    ("isIP", "", "S", 'B'), ("ip.isCanonical", "", "S", 'B'), ("jsonpatch.escapeKey", "", "S", 'S'), ("family", "P", "", 'I'),
    ("isUnspecified", "P", "", 'B'), ("isLoopback", "P", "", 'B'), ("isLinkLocalMulticast", "P", "", 'B'),
    ("isLinkLocalUnicast", "P", "", 'B'), ("isGlobalUnicast", "P", "", 'B'), ("cidr", "", "S", 'C'),
    ("isCIDR", "", "S", 'B'), ("containsIP", "C", "P", 'B'), ("containsIP", "C", "S", 'B'),
    ("containsCIDR", "C", "C", 'B'), ("containsCIDR", "C", "S", 'B'), ("masked", "C", "", 'C'),
    ("prefixLength", "C", "", 'I'), ("quantity", "", "S", 'Q'), ("isQuantity", "", "S", 'B'), ("sign", "Q", "", 'I'), ("sign", "", "Q", 'I'),
    ("isInteger", "Q", "", 'B'), ("asInteger", "Q", "", 'I'), ("asApproximateFloat", "Q", "", 'D'),
    ("isGreaterThan", "Q", "Q", 'B'), ("isLessThan", "Q", "Q", 'B'), ("compareTo", "Q", "Q", 'I'),
    ("add", "Q", "Q", 'Q'), ("add", "Q", "I", 'Q'), ("sub", "Q", "Q", 'Q'), ("sub", "Q", "I", 'Q'),
    ("semver", "", "S", 'V'), ("semver", "", "SB", 'V'), ("isSemver", "", "S", 'B'), ("isSemver", "", "SB", 'B'),
    ("major", "V", "", 'I'), ("minor", "V", "", 'I'), ("patch", "V", "", 'I'), ("isGreaterThan", "V", "V", 'B'),
    ("isLessThan", "V", "V", 'B'), ("compareTo", "V", "V", 'I'), ("format.named", "", "S", '_'),
    ("validate", "F", "S", '_'), ("sets.contains", "", "LL", 'B'), ("sets.equivalent", "", "LL", 'B'),
    ("sets.intersects", "", "LL", 'B'), ("math.ceil", "", "D", 'D'), ("math.floor", "", "D", 'D'),
    ("math.round", "", "D", 'D'), ("math.trunc", "", "D", 'D'), ("math.isNaN", "", "D", 'B'),
    ("math.isInf", "", "D", 'B'), ("math.isFinite", "", "D", 'B'), ("base64.encode", "", "Y", 'S'),
    ("base64.decode", "", "S", 'Y'), ("jsonpatch.escapeKey", "", "S", 'S'), ("hasValue", "O", "", 'B'),
];

/// The types that a rule can name, to compare what `type` gives.
pub(super) const TYPE_NAMES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// What is known of a call.
pub(super) enum Known<'n> {
    /// There is no such function in the table.
    Nothing,
    /// It gives this.
    Gives(Type<'n>),
    /// It cannot be called in this way.
    Refused,
}

/// Looks a call up by its full name, what it is called on and what it is given.
pub(super) fn look_up<'n>(name: &str, target: Option<&Type<'n>>, args: &[Type<'n>]) -> Known<'n> {
    let mut rows = FUNCTIONS.iter().filter(|row| row.0 == name).peekable();
    if rows.peek().is_none() {
        return Known::Nothing;
    }
    let fits = |row: &&Row| {
        let on = match target {
            None => row.1.is_empty(),
            Some(target) => row.1.chars().next().is_some_and(|letter| is(letter, target)),
        };
        on && row.2.len() == args.len() && row.2.chars().zip(args).all(|(letter, arg)| is(letter, arg))
    };
    let fitting: Vec<&Row> = rows.filter(fits).collect();
    match fitting.as_slice() {
        [] => Known::Refused,
        // What is called on something unknown may be any of several.
        [first, rest @ ..] if rest.iter().all(|row| row.3 == first.3) => Known::Gives(gives(first.3, target)),
        _ => Known::Gives(Type::Dyn),
    }
}

/// Whether a type may be what a letter stands for.
fn is(letter: char, of: &Type<'_>) -> bool {
    match (letter, of) {
        ('A', _) | (_, Type::Dyn) => true,
        ('B', Type::Bool) | ('I', Type::Int) | ('U', Type::UInt) | ('D', Type::Double) => true,
        ('S', Type::Text) | ('Y', Type::Bytes) | ('O', Type::Optional(_)) => true,
        ('L', of) => of.is_list(),
        ('M', of) => of.is_map(),
        (letter, Type::Foreign(kind)) => *kind == letter,
        _ => false,
    }
}

fn gives<'n>(letter: char, target: Option<&Type<'n>>) -> Type<'n> {
    match letter {
        'B' => Type::Bool,
        'I' => Type::Int,
        'U' => Type::UInt,
        'D' => Type::Double,
        'S' => Type::Text,
        'Y' => Type::Bytes,
        'X' => Type::List(Box::new(Type::Text)),
        'N' => Type::List(Box::new(Type::Int)),
        'E' => target.and_then(|of| of.element().ok()).unwrap_or(Type::Dyn),
        'W' => target.cloned().unwrap_or(Type::Dyn),
        '_' => Type::Dyn,
        foreign => Type::Foreign(foreign),
    }
}

/// The words for types that only functions look into.
const FOREIGN: [(char, &str); 10] = [
    ('T', "timestamp"),
    ('R', "duration"),
    ('K', "kubernetes.URL"),
    ('P', "net.IP"),
    ('C', "net.CIDR"),
    ('Q', "kubernetes.Quantity"),
    ('V', "kubernetes.Semver"),
    ('F', "kubernetes.NamedFormat"),
    ('Z', "kubernetes.authorization.Authorizer"),
    ('#', "type"),
];

/// Returns the word for a type that only functions look into.
pub(super) fn foreign_word(letter: char) -> &'static str {
    FOREIGN.iter().find(|(of, _)| *of == letter).map_or("object", |(_, word)| word)
}
