// The public entry `@halting/telemetry`. `@opentelemetry/api` is an optional peer dependency, loaded when a provider is
// given.
export { conventionAttributes, eventNames, metricNames, ownAttributes, spanNames } from './names.ts'
export type { TelemetryOptions, ExportedContent } from './options.ts'
export { providerOf } from './provider-of.ts'
export { telemetry, type Telemetry } from './telemetry.ts'
