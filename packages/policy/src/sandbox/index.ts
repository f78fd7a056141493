export { type Sandbox, type CommandToHold, type SandboxedCommand, type SandboxOptions, openSandbox } from './sandbox.ts'
