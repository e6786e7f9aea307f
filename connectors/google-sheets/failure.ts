/** Why a call of the Sheets API gave no result. Flat: the client's errors carry the request and its headers. */
export type Failure =
  /** The attempt's signal: before the call began, or while it was under way. */
  | { readonly kind: 'stopped'; readonly left: boolean }
  | { readonly kind: 'network'; readonly left: boolean; readonly words: string }
  /** No access token, so that nothing of the call has left. */
  | {
      readonly kind: 'token';
      readonly status: number;
      /** OAuth's code, such as invalid_grant, with its description; empty where something else answered. */
      readonly words: string;
      readonly retryAfterMs: number | null;
    }
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly error: ApiError;
      readonly retryAfterMs: number | null;
    }
  /** A success with something that is no answer of Google's, such as a proxy's page. */
  | { readonly kind: 'foreign' }
  /** Google wrote other rows than it was sent. */
  | { readonly kind: 'miscounted'; readonly sent: number; readonly written: number };

/** The parts of Google's error body that tell causes apart. */
export interface ApiError {
  /** As in google.rpc.Code: PERMISSION_DENIED, say. Empty where something else answered. */
  readonly status: string;
  readonly message: string;
  /** From the ErrorInfo in the details: RATE_LIMIT_EXCEEDED, SERVICE_DISABLED. */
  readonly reason: string;
}

export type Answer<Data> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly failure: Failure };
