import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CodeEditor } from "./code_editor";
import { makeEditor } from "./editor";
import type { Validation } from "./faults";
import { Graph } from "./graph";
import { findLine, readOutline } from "./outline";
import * as words from "../words";

interface Properties {
  /** What the editor begins with. */
  first: string;
  /** The text that the graph shows, a moment behind the one that is being written. */
  settled: string;
  found: Validation | undefined;
  isReadOnly: boolean;
  /** Where the cursor starts: `document#viewer`. */
  start: string | undefined;
  onText: (text: string) => void;
  /** Called with the editor. What others write into it is not a property: it would undo what is written meanwhile. */
  onReady: (editor: CodeEditor) => void;
}

/** Shows the editor of a model beside its graph, which follows the cursor. */
export function Workbench({ first, settled, found, isReadOnly, start, onText, onReady }: Properties) {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor | undefined>(undefined);
  const [line, setLine] = useState(1);
  const outline = useMemo(() => readOutline(settled), [settled]);
  const write = useRef(onText);
  write.current = onText;

  useEffect(() => {
    if (!parent.current) return undefined;
    const made = makeEditor({ parent: parent.current, text: first, isReadOnly, onText: (changed) => write.current(changed), onLine: setLine });
    editor.current = made;
    onReady(made);
    return () => made.destroy();
  }, [isReadOnly]);

  useEffect(() => {
    const place = start && findLine(outline, start);
    if (place) editor.current?.goTo(place);
  }, [start]);

  useEffect(() => {
    if (found) editor.current?.showFaults(found);
  }, [found]);

  return (
    <div class="workbench">
      <div class="editor" ref={parent} />
      <section class="card drawing" aria-label={words.graph.title}>
        <Graph outline={outline} place={outline.places[line - 1]} onChoose={(chosen) => editor.current?.goTo(chosen)} />
      </section>
    </div>
  );
}
