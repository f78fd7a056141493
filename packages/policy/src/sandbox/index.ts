export {
  type Sandbox,
  type SandboxCommand,
  type SandboxedCommand,
  type SandboxOptions,
  openSandbox,
} from './sandbox.ts'
export type { ProxyOptions } from './proxy.ts'
