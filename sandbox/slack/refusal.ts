/** Thrown for an answer with `ok: false`, or with status 429 where it states a delay. */
export class SlackRefusal extends Error {
  override readonly name = 'SlackRefusal';
  readonly code: string;
  readonly extra: { readonly [key: string]: unknown };
  readonly retryAfterS: number | undefined;

  constructor(code: string, extra: { readonly [key: string]: unknown } = {}, retryAfterS?: number) {
    super(code);
    this.code = code;
    this.extra = extra;
    this.retryAfterS = retryAfterS;
  }
}
