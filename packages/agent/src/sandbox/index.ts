// `@halting/agent/sandbox`: a separate entry, so that runs without a sandbox load none of it.
export { confineCommands, type ConfineCommandsOptions } from './confine-commands.ts'
export {
  type PlainCommand,
  type SandboxDescription,
  type SandboxSettings,
  sandboxSettingsOf,
  findLandlock,
  findNamespaces,
} from '@halting/policy'
export { openSandbox } from './open-sandbox.ts'
export { type SandboxCommand, type Sandbox, type SandboxedCommand, type SandboxOptions } from '@halting/policy/sandbox'
export { type Confinement, Wall, type WallOptions } from '@halting/policy/wall'
