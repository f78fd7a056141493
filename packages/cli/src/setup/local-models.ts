import { type LocalService, localServices } from '@halting/models'
import type { Program } from '../program.ts'
import { askForModels, type ProbeResult } from './probe.ts'

const titles: Readonly<Record<string, string>> = {
  ollama: 'Ollama',
  llamacpp: 'llama.cpp',
  vllm: 'vLLM',
  lmstudio: 'LM Studio',
}

/** A model server on this machine, and the result of contacting it. */
export interface LocalFinding {
  readonly service: string
  readonly title: string
  /** Host and port only; the rest of the address may contain secrets. */
  readonly address: string
  /** The variable that changes the address. */
  readonly variable: string
  readonly probed: ProbeResult
}

/** Time limit; all servers are contacted at the same time. */
const timeoutMs = 1_500

/** Searches for model servers on this machine, at the default ports or the configured addresses (spec R-SETUP-3). */
export async function localFindings(env: Program['env']): Promise<readonly LocalFinding[]> {
  return Promise.all(
    localServices(env).map(async (service) => ({
      service: service.prefix,
      title: titles[service.prefix] ?? service.prefix,
      address: URL.canParse(service.baseUrl) ? new URL(service.baseUrl).host : 'no address',
      variable: service.baseUrlVariable,
      probed: await probe(service),
    })),
  )
}

async function probe({ baseUrl, isOnThisMachine }: LocalService): Promise<ProbeResult> {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined) return { kind: 'not_asked', says: 'its variable is not a valid address' }
  // A subdomain of localhost may resolve to another machine.
  if (!isOnThisMachine || url.hostname.endsWith('.localhost'))
    return { kind: 'not_asked', says: 'it is not on this machine' }
  if (url.protocol !== 'http:') return { kind: 'not_asked', says: 'only http is supported on this machine' }
  if (url.username !== '' || url.password !== '')
    return { kind: 'not_asked', says: 'its address contains a user name or password' }
  return askForModels(baseUrl, timeoutMs)
}
