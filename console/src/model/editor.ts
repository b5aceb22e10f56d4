/** Makes the editor of models: CodeMirror with our language, completion and marks. */

import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Validation } from "./faults";
import styles from "./editor.css?inline";
import { modelLanguage } from "./language";
import { faultMarks, setFaults } from "./marks";
import { readOutline } from "./outline";
import { completeLine } from "./suggestions";

const VALID_FOR = /^[A-Za-z0-9_-]*$/;
const KINDS = { keyword: "keyword", type: "type", relation: "property", policy: "function" } as const;

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  isReadOnly: boolean;
  onText: (text: string) => void;
  /** Called with the line of the cursor, from 1. */
  onLine: (line: number) => void;
}

export interface ModelEditor {
  setText: (text: string) => void;
  showFaults: (found: Validation) => void;
  goTo: (line: number, column?: number) => void;
  destroy: () => void;
}

function complete(context: CompletionContext): CompletionResult | null {
  const { doc } = context.state;
  const line = doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const outline = readOutline(doc.toString());
  const found = completeLine(before, outline, outline.places[line.number - 1]);
  const isWritten = found && found.from < before.length;
  if (!found || !(context.explicit || isWritten || /[[#,]\s*$/.test(before))) return null;
  const options = found.options.map(({ label, kind, detail }) => ({ label, detail, type: KINDS[kind] }));
  return { from: line.from + found.from, options, validFor: VALID_FOR };
}

/** Replaces a selection of several lines by what is typed. If the browser did it, it would join their elements and add
 * inline styles, which the policy of the page refuses and reports. */
function replaceLines(event: InputEvent, view: EditorView): boolean {
  const { doc, selection, readOnly } = view.state;
  const { from, to } = selection.main;
  const isOneLine = doc.lineAt(from).number === doc.lineAt(to).number;
  if (event.inputType !== "insertText" || event.data === null || isOneLine || readOnly || view.composing) return false;
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  event.preventDefault();
  return true;
}

/** Returns a shadow tree in which CodeMirror writes its styles to a style sheet instead of a <style> element. */
function makeRoot(parent: HTMLElement): ShadowRoot {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root.adoptedStyleSheets = [sheet];
  return root;
}

export function makeEditor({ parent, text, isReadOnly, onText, onLine }: EditorOptions): ModelEditor {
  const root = makeRoot(parent);
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightActiveLine(),
        history(),
        indentUnit.of("    "),
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ "aria-label": "Model", tabindex: "0", spellcheck: "false", autocorrect: "off" }),
        StreamLanguage.define(modelLanguage),
        syntaxHighlighting(classHighlighter),
        autocompletion({ override: [complete], icons: false }),
        faultMarks,
        EditorView.domEventHandlers({ beforeinput: replaceLines }),
        // Tab leaves the editor, so that the keyboard is not caught in it.
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onText(update.state.doc.toString());
          if (update.docChanged || update.selectionSet) {
            onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
          }
        }),
      ],
    }),
  });
  return {
    setText(changed) {
      const { doc, selection } = view.state;
      if (doc.toString() === changed) return;
      const head = Math.min(selection.main.head, changed.length);
      view.dispatch({ changes: { from: 0, to: doc.length, insert: changed }, selection: { anchor: head } });
    },
    showFaults(found) {
      view.dispatch({ effects: setFaults.of(found) });
    },
    goTo(line, column = 1) {
      const { from, to } = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      const place = Math.min(from + column - 1, to);
      view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "center" }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
