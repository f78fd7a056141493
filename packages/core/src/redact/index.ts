// `@halting/core/redact`: removes secrets from texts and records. It is a separate entry, so that a program loads it
// only when it redacts something.
export { redactedValue } from './secrets.ts'
export { redactedMark, redactSecrets } from './secrets.ts'
