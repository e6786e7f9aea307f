import type { CallFailure, CallResult, HttpFailure } from '../../src/connector.ts';

/** Why a call of the Sheets API gave no result. */
export type Failure =
  | CallFailure
  | (HttpFailure & { readonly error: ApiError })
  /** No access token, so that nothing of the call has left. */
  | {
      readonly kind: 'token';
      readonly status: number;
      /** OAuth's code, such as invalid_grant, with its description; empty where something else answered. */
      readonly words: string;
      readonly retryAfterMs: number | null;
    }
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

export type Answer<Data> = CallResult<Data, Failure>;
