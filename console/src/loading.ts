/** Loads what a page shows, and keeps only the answer to the newest request. */

import { useEffect, useState } from "preact/hooks";
import { Refused } from "./api";

export interface Loaded<T> {
  value?: T;
  fault?: Refused;
  isLoading: boolean;
  reload: () => void;
}

/** Calls `load` whenever `dependencies` change. What was shown before stays until the new answer is there. */
export function useLoaded<T>(load: ((signal: AbortSignal) => Promise<T>) | undefined, dependencies: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; fault?: Refused; isLoading: boolean }>({ isLoading: !!load });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!load) {
      setState({ isLoading: false });
      return undefined;
    }
    const aborter = new AbortController();
    setState((present) => ({ ...present, isLoading: true }));
    load(aborter.signal).then(
      (value) => !aborter.signal.aborted && setState({ value, isLoading: false }),
      (fault: unknown) => {
        if (aborter.signal.aborted) return;
        if (!(fault instanceof Refused)) throw fault;
        setState({ fault, isLoading: false });
      },
    );
    return () => aborter.abort();
  }, [...dependencies, turn]);
  return { ...state, reload: () => setTurn((count) => count + 1) };
}
