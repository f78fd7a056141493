// `@halting/core/redact`: takes secrets out of texts and records. An entry of its own, so that a start loads it only when something is to be redacted.
export { redactedValue } from './secrets.ts'
export { redactedMark, redactSecrets } from './secrets.ts'
