// `@halting/agent/hooks`: hooks of settings. A separate entry, so that runs without hooks load none of it.
export type { HookLine } from './call-hooks.ts'
export { readCallbackHooks, type CallHook } from './callback-hooks.ts'
export { settingsHookPrefix } from './core-hooks.ts'
export {
  hookEvents,
  readHooks,
  type CallbackHook,
  type HookEvent,
  type ReadHooks,
  type ShellHook,
  type ShellHookTable,
} from './settings.ts'
export { settingsHooks, type SettingsHooks, type SettingsHooksOptions } from './settings-hooks.ts'
export { ShellHooks, type ShellHooksOptions } from './shell-hooks.ts'
export { StatusLineCommand, type StatusLineOptions, type StatusLineResult, type StatusLineSize } from './status-line.ts'
