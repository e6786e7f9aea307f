import { LiquidError } from 'liquidjs';

/** Why a template failed for an event, in plain words, without a full stop. */
export function explainRenderFault(error: unknown): string {
  const cause = causeOf(error);
  const { variableName } = cause as { variableName?: string };
  if (variableName !== undefined) {
    return `\`${variableName}\` is not in what the service sent; to do without it, write \`{{ ${variableName} | default: "" }}\``;
  }
  return cause instanceof Error ? cause.message.replace(/, line:\d+, col:\d+$/, '') : String(cause);
}

/** Line and column of the tag or output that failed, from 1. */
export function placeOfRenderFault(error: unknown): { readonly line: number; readonly column: number } {
  const [line = 1, column = 1] = LiquidError.is(error) ? error.token.getPosition() : [];
  return { line, column };
}

function causeOf(error: unknown): unknown {
  const { originalError } = error as { originalError?: unknown };
  return originalError === undefined ? error : causeOf(originalError);
}
