import type { Plugin } from 'esbuild'

/** Has packages of OpenTelemetry bundled as modules, of which only what is used stays. */
export function openTelemetryModules(): Plugin
