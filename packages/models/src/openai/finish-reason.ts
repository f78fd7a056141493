/**
 * What a finish reason means, as a stop reason of the Messages API. One that is not known stays as it is. Without any the
 * reply ended by itself.
 */
export function meaningOf(finishReason = 'stop'): string {
  const name = nameOf(finishReason)
  return (Object.hasOwn(stopReasonOf, name) ? stopReasonOf[name] : undefined) ?? finishReason
}

/** Whether it may fall in the middle of a call. */
export function isCut(finishReason: string | undefined): boolean {
  const meaning = meaningOf(finishReason)
  return meaning === 'max_tokens' || meaning === 'model_context_window_exceeded' || meaning === 'refusal'
}

/** Finish reasons of replies that the service did not bring to their end. */
export function isFailure(finishReason: string): boolean {
  return failures.has(nameOf(finishReason))
}

/** Some write it in capitals, and some say more after a colon. */
function nameOf(finishReason: string): string {
  return finishReason.toLowerCase().split(':', 1)[0] ?? ''
}

const stopReasonOf: { readonly [finishReason: string]: string } = {
  stop: 'end_turn',
  eos: 'end_turn',
  eos_token: 'end_turn',
  end_turn: 'end_turn',
  tool_calls: 'tool_use',
  tool_use: 'tool_use',
  function_call: 'tool_use',
  length: 'max_tokens',
  max_tokens: 'max_tokens',
  model_length: 'model_context_window_exceeded',
  content_filter: 'refusal',
  sensitive: 'refusal',
  refusal: 'refusal',
}

const failures: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'network_error',
  'insufficient_system_resource',
  // The service could not read the call that its model wrote.
  'function_call_filter',
])
