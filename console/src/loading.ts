/** Loads what a page shows, and keeps only the answer to the newest request. */

import { useEffect, useState } from "preact/hooks";
import { Refused } from "./api";

export interface Loaded<T> {
  value?: T;
  fault?: Refused;
  isLoading: boolean;
  reload: () => void;
}

/** Calls `load` whenever `dependencies` change. What was shown before stays until the new answer is there, and counts as
 * loading from the first render with other dependencies on: what it says of them would be wrong. */
export function useLoaded<T>(load: ((signal: AbortSignal) => Promise<T>) | undefined, dependencies: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; fault?: Refused; of: unknown[] }>({ of: [] });
  const [turn, setTurn] = useState(0);
  const wanted = [...dependencies, turn];
  useEffect(() => {
    if (!load) {
      setState({ of: wanted });
      return undefined;
    }
    const aborter = new AbortController();
    load(aborter.signal).then(
      (value) => !aborter.signal.aborted && setState({ value, of: wanted }),
      (fault: unknown) => {
        if (aborter.signal.aborted) return;
        if (!(fault instanceof Refused)) throw fault;
        setState({ fault, of: wanted });
      },
    );
    return () => aborter.abort();
  }, wanted);
  const isAnswered = state.of.length > 0 && wanted.every((one, place) => Object.is(one, state.of[place]));
  return { value: state.value, fault: state.fault, isLoading: !!load && !isAnswered, reload: () => setTurn((count) => count + 1) };
}
