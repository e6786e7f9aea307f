/**
 * The answer with a body that ends in an error after so many bytes (decoded): one without end would fill the memory, as
 * client libraries read it whole. `onTooLong` is told then, whatever the library makes of the error.
 */
export function boundedAnswer(answer: Response, maxBodyBytes: number, onTooLong: () => void): Response {
  if (answer.body === null) return answer;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxBodyBytes) return controller.enqueue(chunk);
      onTooLong();
      controller.error(new Error('the answer is too long'));
    },
  });
  // Some answer with a status that no Response may be made with.
  const status = Math.min(answer.status, 599);
  const { headers, statusText } = answer;
  return new Response(answer.body.pipeThrough(counted), { status, statusText, headers });
}
