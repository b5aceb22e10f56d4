/** Says why the service refused a request, and what the reader can do about it. */

import * as words from "./words";

/** Represents an answer that is an error. The status is 0 if there was no answer. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The name of the parameter or member that is wrong, if the service says it. */
    readonly parameter = "",
  ) {
    super(message);
  }

  /** Returns what the reader can do about it. */
  get advice(): string {
    if (this.status === 0) return words.refusals.checkService;
    if (this.status === 401) return words.refusals.signInAgain;
    if (this.status === 403) return words.refusals.useOtherKey;
    if (this.status === 404) return words.refusals.checkSpelling;
    if (this.status === 409) return words.refusals.loadAgain;
    if (this.status === 412) return words.refusals.compareAgain;
    if (this.status === 410) return words.refusals.chooseLater;
    if (this.code === "budget_spent") return words.refusals.narrow;
    if (this.status >= 500) return words.refusals.tryLater;
    return words.refusals.changeRequest;
  }
}
