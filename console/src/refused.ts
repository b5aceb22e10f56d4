/** Says why the service refused a request, and what the reader can do about it. */

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
    if (this.status === 0) return "Check that the service is running and that you can reach it, then try again.";
    if (this.status === 401) return "Sign in with a key that this service knows and that has not expired.";
    if (this.status === 403) return "Sign in with a key that has this scope, or get one from an administrator.";
    if (this.status === 404) return "Check the spelling, or choose one of the names that are suggested.";
    if (this.status === 409) return "Somebody else wrote in the meantime. Load the page again.";
    if (this.status === 412) return "Somebody else changed it in the meantime. Compare again, then save.";
    if (this.status === 410) return "Choose a later time, or go back to now.";
    if (this.code === "budget_spent") return "Narrow the request, or raise the budget of the service.";
    if (this.status >= 500) return "Try again in a moment. If it stays like this, look at the log of the service.";
    return "Change what the message names, and try again.";
  }
}
