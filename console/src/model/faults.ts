/** Defines what POST /v2/model/validate answers. */

export interface ModelFault {
  line: number;
  column: number;
  code: string;
  message: string;
  suggestion?: string;
}

export interface Validation {
  valid: boolean;
  errors: ModelFault[];
  warnings: ModelFault[];
}
