export {
  type Sandbox,
  type SandboxCommand as CommandToHold,
  type SandboxedCommand,
  type SandboxOptions,
  openSandbox,
} from './sandbox.ts'
export type { ProxyOptions } from './proxy.ts'
