export { type Sandbox, type CommandToHold, type SandboxedCommand, type SandboxOptions, openSandbox } from './sandbox.ts'
export type { ProxyOptions } from './proxy.ts'
