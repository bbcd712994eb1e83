//! Declares the values of an OpenAPI schema, as users of the crate do.

use tenure_cel::{Decl, Equality, ListSemantics};
use tenure_value::Value;

/// Returns the declaration of a schema; `None` if expressions cannot access its values.
pub fn decl(schema: &Value, name: &str) -> Option<Decl> {
    let number = |key: &str| schema.get(key).and_then(Value::as_i64).map(|number| number.max(0) as u64);
    let bounded = |decl: Decl| match number("maxLength") {
        Some(length) => decl.max_length(length),
        None => decl,
    };
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return Some(bounded(Decl::int_or_string()));
    }
    Some(match schema.get("type").and_then(Value::as_str)? {
        "array" => {
            let list = Decl::list(decl(schema.get("items")?, &format!("{name}.@items"))?);
            let list = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("set") => list.list_semantics(ListSemantics::Set(Equality::Covers)),
                Some("map") => {
                    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                    let keys = keys.into_iter().flat_map(|keys| keys.iter().filter_map(Value::as_str));
                    list.list_semantics(ListSemantics::Keyed(
                        keys.map(Into::into).collect(),
                        Equality::Covers,
                    ))
                }
                _ => list,
            };
            match number("maxItems") {
                Some(count) => list.max_items(count),
                None => list,
            }
        }
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => {
                let map = Decl::map(decl(values, &format!("{name}.@values"))?);
                match number("maxProperties") {
                    Some(count) => map.max_properties(count),
                    None => map,
                }
            }
            _ => {
                let required = |field: &str, schema: &Value, value: &Value| {
                    let listed = schema.get("required").and_then(Value::as_array);
                    listed.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(field)))
                        && value.get("default").is_none()
                };
                let fields = schema.get("properties").and_then(Value::as_object);
                let fields =
                    fields.into_iter().flat_map(|fields| fields.iter()).filter_map(|(field, property)| {
                        Some((
                            field.clone(),
                            decl(property, &format!("{name}.{field}"))?,
                            required(field, schema, property),
                        ))
                    });
                Decl::object(name, fields.collect::<Vec<_>>())
            }
        },
        "string" => match schema.get("format").and_then(Value::as_str) {
            Some("byte") => bounded(Decl::bytes()),
            Some("duration") => Decl::duration(),
            Some("date") => Decl::date(),
            Some("date-time") => Decl::timestamp(),
            _ => match (number("maxLength"), schema.get("enum").and_then(Value::as_array)) {
                (None, Some(values)) => Decl::string().one_of(values.iter().filter_map(Value::as_str)),
                _ => bounded(Decl::string()),
            },
        },
        "boolean" => Decl::bool(),
        "number" => Decl::double(),
        "integer" => Decl::int(),
        _ => return None,
    })
}
