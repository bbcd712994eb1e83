// An object as lines of YAML, formatted as kubectl does, each with the place of the value that it shows.

const WIDTH = 80;
const WORDS = new Set(["", "~", ...["null", "y", "yes", "true", "on", "n", "no", "false", "off"].flatMap((word) =>
  [word, word[0].toUpperCase() + word.slice(1), word.toUpperCase()])]);
const NOT_FINITE = /^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/;
const NUMBER = /^[-+]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)$/;
const SEXAGESIMAL = /^[-+]?\d[\d_]*(:[0-5]?\d)*(:[0-5]?\d(\.[\d_]*)?)$/;
const DATE = /^\d{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\d|3[01])([Tt ].*)?$/;
const FIRST = ",[]{}&*!|>'\"%@`";
const ESCAPES = { "\0": "0", "\x07": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e", '"': '"', "\\": "\\", "\x85": "N", "\u2028": "L", "\u2029": "P" };

/** Whether a string must be quoted to remain a string. */
const isAmbiguous = (text) =>
  WORDS.has(text) || NOT_FINITE.test(text) || NUMBER.test(/^[-+\d]/.test(text) ? text.replaceAll("_", "") : text) || SEXAGESIMAL.test(text) || DATE.test(text);

const isPrintable = (character) => {
  const code = character.codePointAt(0);
  if ([0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff].includes(code)) return false;
  return code === 10 || (code >= 0x20 && code <= 0x7e) || (code >= 0xa0 && code <= 0xffff);
};

/** Whether a string begins with an indicator, or contains one where YAML would read it. */
function hasIndicators(text) {
  if (/^(---|\.\.\.)/.test(text)) return true;
  const before = (at) => at + 1 >= text.length || text[at + 1] === " " || text[at + 1] === "\n";
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (at === 0 && (FIRST.includes(character) || ("-?".includes(character) && before(at)))) return true;
    if (character === ":" && before(at)) return true;
    if (character === "#" && (at === 0 || text[at - 1] === " " || text[at - 1] === "\n")) return true;
  }
  return false;
}

class Writer {
  constructor() {
    this.lines = [];
    this.text = "";
    this.at = [];
  }

  end() {
    this.lines.push({ text: this.text, at: [...this.at] });
    this.text = "";
  }

  object(object, indent) {
    Object.keys(object).sort(byCodePoint).forEach((name, index) => {
      if (index > 0) this.text += " ".repeat(indent);
      this.at.push(name);
      this.string(name, indent + 2, true);
      this.text += ":";
      this.value(object[name], indent, true);
      this.at.pop();
    });
  }

  array(items, indent) {
    items.forEach((item, index) => {
      if (index > 0) this.text += " ".repeat(indent);
      this.text += "-";
      this.at.push(index);
      this.value(item, indent, false);
      this.at.pop();
    });
  }

  value(value, indent, named) {
    const isArray = Array.isArray(value);
    if (value !== null && typeof value === "object" && (isArray ? value.length : Object.keys(value).length) > 0) {
      // The items of a list stand as deep as its name.
      const deeper = named && isArray ? indent : indent + 2;
      if (named) {
        this.end();
        this.text = " ".repeat(deeper);
      } else {
        this.text += " ";
      }
      return isArray ? this.array(value, deeper) : this.object(value, deeper);
    }
    this.text += " ";
    if (typeof value === "string") this.string(value, indent + 2, false);
    else this.text += JSON.stringify(value);
    return this.end();
  }

  string(text, indent, isKey) {
    const special = ![...text].every(isPrintable);
    if (text.includes("\n")) {
      const fits = !isKey && !special && !text.endsWith(" ") && !text.includes(" \n");
      return fits ? this.block(text, indent) : this.quoted(text, isKey ? undefined : indent);
    }
    if (isAmbiguous(text) || (isKey && text === "<<") || special) return this.quoted(text, isKey ? undefined : indent);
    if (text !== "" && !hasIndicators(text) && !text.startsWith(" ") && !text.endsWith(" ")) return this.folded(text, isKey ? undefined : indent);
    this.text += "'";
    this.folded(text.replaceAll("'", "''"), isKey ? undefined : indent);
    this.text += "'";
  }

  folded(text, indent) {
    const characters = [...text];
    characters.forEach((character, at) => {
      const lone = character === " " && at > 0 && characters[at - 1] !== " " && at + 1 < characters.length && characters[at + 1] !== " ";
      if (lone && indent !== undefined && [...this.text].length > WIDTH) this.fold(indent);
      else this.text += character;
    });
  }

  fold(indent) {
    this.end();
    this.text = " ".repeat(indent);
  }

  quoted(text, indent) {
    this.text += '"';
    const characters = [...text];
    characters.forEach((character, at) => {
      if (character === " " && indent !== undefined && at > 0 && characters[at - 1] !== " " && at + 1 < characters.length && [...this.text].length > WIDTH) {
        this.fold(indent);
        if (characters[at + 1] === " ") this.text += "\\";
      } else {
        this.text += escaped(character);
      }
    });
    this.text += '"';
  }

  block(text, indent) {
    this.text += "|";
    if (/^[ \n]/.test(text)) this.text += "2";
    const content = text.endsWith("\n") ? text.slice(0, -1) : text;
    if (!text.endsWith("\n")) this.text += "-";
    else if (content === "" || content.endsWith("\n")) this.text += "+";
    for (const line of content.split("\n")) {
      this.end();
      if (line !== "") this.text = " ".repeat(indent) + line;
    }
  }
}

function escaped(character) {
  if (Object.hasOwn(ESCAPES, character)) return `\\${ESCAPES[character]}`;
  if (isPrintable(character)) return character;
  const code = character.codePointAt(0);
  const hex = code.toString(16).toUpperCase();
  return code <= 0xff ? `\\x${hex.padStart(2, "0")}` : code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** Compares strings as UTF-8 does: UTF-16 puts astral characters before some of the basic plane. */
export function byCodePoint(a, b) {
  const [x, y] = [[...a], [...b]];
  for (let at = 0; at < Math.min(x.length, y.length); at += 1) {
    const difference = x[at].codePointAt(0) - y[at].codePointAt(0);
    if (difference !== 0) return difference;
  }
  return x.length - y.length;
}

/** Returns the lines of an object: the text, and the place of its value as names and indexes. */
export function toLines(object) {
  const writer = new Writer();
  writer.object(object, 0);
  return writer.lines;
}
