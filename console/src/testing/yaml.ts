/** Finds the words of a test file for highlighting: those of YAML, and those of the model that it may contain. */

import type { StreamParser, StringStream } from "@codemirror/language";
import { modelLanguage } from "../model/language";

type ModelState = ReturnType<NonNullable<typeof modelLanguage.startState>>;

interface State {
  /** The lines that are indented further than this are a text, or a model. */
  block: number | undefined;
  model: ModelState | undefined;
  /** The member whose value follows. */
  member: string;
}

const KEY = /^(?:(?!\s#)[^,[\]{}])*?(?=\s*:(?:\s|$))/;
const QUOTED = /^(?:"(?:\\.|[^"\\])*"?|'(?:''|[^'])*'?)/;
const BLOCK = /^[|>][-+0-9]{0,2}(?=\s*(?:#.*)?$)/;
const LITERAL = /^(?:true|false|null|~)(?=\s*(?:[,\]}]|\s#|$))/;
const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?(?=\s*(?:[,\]}]|\s#|$))/;
const PLAIN = /^[^\s,[\]{}]+/;

export const testLanguage: StreamParser<State> = {
  name: "magistrate-tests",
  startState: () => ({ block: undefined, model: undefined, member: "" }),
  copyState: (state) => ({ ...state, model: state.model && { ...state.model } }),
  languageData: { commentTokens: { line: "#" } },
  token(stream, state) {
    if (stream.sol() && state.block !== undefined && stream.indentation() <= state.block && !/^\s*$/.test(stream.string)) {
      Object.assign(state, { block: undefined, model: undefined });
    }
    if (state.block !== undefined) return readBlock(stream, state);
    if (stream.sol() && stream.match(/^(?:---|\.\.\.)(?=\s|$)/)) return "punctuation";
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "lineComment";
    if (stream.match(/^-(?=\s|$)/) || stream.match(/^[,[\]{}]/) || stream.match(/^:(?=\s|$)/)) return "punctuation";
    if (stream.match(QUOTED)) return stream.match(/^\s*:(?:\s|$)/, false) ? "propertyName" : "string";
    if (stream.match(BLOCK)) {
      state.block = stream.indentation();
      state.model = state.member === "model" ? modelLanguage.startState?.(4) : undefined;
      return "keyword";
    }
    if (stream.match(LITERAL)) return "keyword";
    if (stream.match(NUMBER)) return "number";
    const key = stream.match(KEY) as RegExpMatchArray | null;
    if (key?.[0]) {
      state.member = key[0];
      return "propertyName";
    }
    stream.match(PLAIN);
    return null;
  },
};

function readBlock(stream: StringStream, state: State): string | null {
  if (state.model) return modelLanguage.token(stream, state.model);
  stream.skipToEnd();
  return "string";
}
