/** Finds the words of a model as text for highlighting (docs/models.md). A word of the language can be a name, so what a
 * word is depends on what stands before it. */

import type { StreamParser, StringStream } from "@codemirror/language";
import { OPERATORS } from "../operators";

type Expected =
  | "statement"
  | "nothing"
  | "type"
  | "relation"
  | "arrow"
  | "all"
  | "inherited"
  | "if"
  | "policy"
  | "parameter"
  | "parameterType"
  | "source"
  | "action"
  | "is"
  | "target";

interface State {
  expected: Expected;
  isInBrackets: boolean;
  isUserset: boolean;
  braces: number;
}

const BEHIND: Record<string, Expected> = {
  version: "nothing",
  type: "type",
  relation: "relation",
  inherit: "inherited",
  policy: "policy",
  source: "source",
  action: "action",
  ...Object.fromEntries(Object.values(OPERATORS).map(({ text }): [string, Expected] => [text, "nothing"])),
  self: "nothing",
  nobody: "nothing",
};
/** Has the style of a word by what was expected, and what is expected behind it. */
const READ_AS: Partial<Record<Expected, [style: string, next: Expected]>> = {
  type: ["typeName", "nothing"],
  relation: ["propertyName", "arrow"],
  all: ["keyword", "relation"],
  inherited: ["propertyName", "if"],
  if: ["keyword", "statement"],
  is: ["keyword", "target"],
  target: ["propertyName", "nothing"],
  policy: ["variableName", "parameter"],
  parameter: ["variableName", "parameterType"],
  parameterType: ["typeName", "parameter"],
};
const WORD = /^[A-Za-z0-9_-]+/;
const EXPRESSION_WORDS = new Set(["true", "false", "in", "nil", "null", "now"]);

export const modelLanguage: StreamParser<State> = {
  name: "magistrate-model",
  startState: () => ({ expected: "statement", isInBrackets: false, isUserset: false, braces: 0 }),
  copyState: (state) => ({ ...state }),
  languageData: { commentTokens: { line: "//" } },
  token(stream, state) {
    if (stream.sol() && state.braces === 0) Object.assign(state, { expected: "statement", isInBrackets: false, isUserset: false });
    if (stream.eatSpace()) return null;
    if (state.braces > 0) return readExpression(stream, state);
    if (state.expected === "action" && stream.match(/^"[^"]*"?/)) {
      state.expected = "is";
      return "string";
    }
    if (stream.match("//")) {
      const isDescription = stream.peek() === "/";
      stream.skipToEnd();
      return isDescription ? "docComment" : "lineComment";
    }
    if (state.expected === "source") {
      stream.skipToEnd();
      return "string";
    }
    if (stream.match(/^[0-9]+\.[0-9]+/)) return "number";
    const word = stream.match(WORD);
    return word ? readWord((word as RegExpMatchArray)[0], state) : readMark(stream, state);
  },
};

function readWord(word: string, state: State): string | null {
  if (state.isInBrackets) return state.isUserset ? "propertyName" : "typeName";
  const { expected } = state;
  state.expected = "nothing";
  if (expected === "statement") {
    state.expected = BEHIND[word] ?? "nothing";
    return word in BEHIND ? "keyword" : null;
  }
  if (expected === "arrow") {
    if (word === "for") state.expected = "all";
    if (word === "on") state.expected = "relation";
    return "keyword";
  }
  const [style, next] = READ_AS[expected] ?? [null, "nothing"];
  state.expected = next;
  return style;
}

function readMark(stream: StringStream, state: State): string {
  const mark = stream.next();
  if (mark === "[") Object.assign(state, { isInBrackets: true, isUserset: false });
  if (mark === "]") state.isInBrackets = false;
  if (mark === "#") state.isUserset = true;
  if (mark === ",") state.isUserset = false;
  if (mark === "{") state.braces = 1;
  return mark === "*" ? "operator" : "punctuation";
}

function readExpression(stream: StringStream, state: State): string | null {
  if (stream.match(/^\/\/.*/) || stream.match(/^\/\*.*?(\*\/|$)/)) return "lineComment";
  if (stream.match(/^"(\\.|[^"\\])*"?/) || stream.match(/^'(\\.|[^'\\])*'?/)) return "string";
  if (stream.match(/^[0-9]+(\.[0-9]+)?/)) return "number";
  const word = stream.match(/^[A-Za-z_][A-Za-z0-9_]*/);
  if (word) return EXPRESSION_WORDS.has((word as RegExpMatchArray)[0]) ? "keyword" : "variableName";
  const mark = stream.next();
  if (mark === "{") state.braces += 1;
  if (mark === "}") state.braces -= 1;
  if (state.braces === 0) state.expected = "nothing";
  return mark === "{" || mark === "}" || mark === "(" || mark === ")" ? "punctuation" : "operator";
}
