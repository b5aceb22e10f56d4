import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { indentLess, indentMore, simplifySelection } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { makeCodeEditor, type CodeEditor } from "../model/code_editor";
import type { ModelFault } from "../model/faults";
import { readOutline } from "../model/outline";
import { testFile } from "../pinned";
import { listRelations, listTypes } from "../schema";
import * as words from "../words";
import { completeTests, type Names } from "./suggestions";
import { testLanguage } from "./yaml";

const VALID_FOR = /^[A-Za-z0-9_-]*$/;
const KINDS = { keyword: "keyword", type: "type", relation: "property", policy: "function" } as const;
/** Matches the model of a test file, in lines of its own. */
const MODEL = /^model:\s*[|>].*\n((?:[ \t].*\n|\s*\n)*)/m;
/** Sets how long Tab leaves the editor after Escape, unless another key is pressed: there is no hurry. */
const LEAVING_MS = 3_600_000;
const HOW_TO_LEAVE = words.tests.tabIndents;

/** Tab indents, but Escape gives it back, so that the keyboard is not caught in the editor. */
const KEYS = [
  EditorView.contentAttributes.of({ "aria-description": HOW_TO_LEAVE }),
  EditorState.tabSize.of(2),
  keymap.of([
    { key: "Tab", run: indentMore, shift: indentLess },
    {
      key: "Escape",
      run(view) {
        simplifySelection(view);
        view.setTabFocusMode(LEAVING_MS);
        return true;
      },
    },
  ]),
];

interface Properties {
  text: string;
  faults: ModelFault[];
  /** The tests that failed. */
  failures: ModelFault[];
  onText: (text: string) => void;
  onReady: (editor: CodeEditor) => void;
}

/** Represents the editor of a test file. */
export function TestsEditor({ text, faults, failures, onText, onReady }: Properties) {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor | undefined>(undefined);

  useEffect(() => {
    if (!parent.current) return undefined;
    const made = makeCodeEditor({
      parent: parent.current,
      text,
      label: words.tests.file,
      language: testLanguage,
      indent: "  ",
      complete,
      keys: KEYS,
      onText,
    });
    editor.current = made;
    onReady(made);
    return () => made.destroy();
  }, []);

  // The file may have been changed since this was rendered: what is written meanwhile stays.
  useEffect(() => editor.current?.setText(testFile.peek()), [text]);
  useEffect(() => {
    editor.current?.showFaults({ valid: faults.length === 0, errors: [...faults, ...failures], warnings: [] });
  }, [faults, failures]);

  return <div class="editor" ref={parent} />;
}

function complete(context: CompletionContext): CompletionResult | null {
  const { doc } = context.state;
  const line = doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const text = doc.toString();
  const found = completeTests(before, text.slice(0, line.from).split("\n"), readNames(text));
  const isWritten = found && (found.from < before.length || /[#@"']$/.test(before));
  if (!found || !(context.explicit || isWritten)) return null;
  const options = found.options.map(({ label, kind, detail }) => ({ label, detail, type: KINDS[kind] }));
  return { from: line.from + found.from, options, validFor: VALID_FOR };
}

/** Returns the names of the model of the file, or of that of the service. */
function readNames(text: string): Names {
  const own = MODEL.exec(text)?.[1];
  if (own === undefined) return { types: listTypes(), listRelations };
  const indent = /^[ \t]*(?=\S)/m.exec(own)?.[0] ?? "";
  const { types } = readOutline(own.split("\n").map((line) => line.replace(indent, "")).join("\n"));
  return {
    types: types.map(({ name }) => name),
    listRelations: (type) => types.find(({ name }) => name === type)?.relations.map(({ name }) => name) ?? [],
  };
}
