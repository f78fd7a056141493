// `@halting/agent/sandbox`: an entry of its own, so that a run without a sandbox loads none of it.
export { holdCommands, type HoldCommandsOptions } from './hold-commands.ts'
export type { PlainCommand, SandboxDescription } from './description.ts'
export { openSandbox } from './open-sandbox.ts'
export { type CommandToHold, type Sandbox, type SandboxedCommand, type SandboxOptions } from './sandbox.ts'
export { type SandboxSettings, sandboxSettingsOf } from './sandbox-settings.ts'
export { type Confinement, Wall, type WallOptions } from './wall.ts'
export { findLandlock, findNamespaces } from './wall-means.ts'
