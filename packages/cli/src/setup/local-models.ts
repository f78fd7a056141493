import { type LocalService, localServices } from '@halting/models'
import type { Program } from '../program.ts'
import { askForModels, type ProbeResult } from './probe.ts'

const titles: Readonly<Record<string, string>> = {
  ollama: 'Ollama',
  llamacpp: 'llama.cpp',
  vllm: 'vLLM',
  lmstudio: 'LM Studio',
}

/** A service that runs models on the person's own machine, and what was found of it. */
export interface LocalFinding {
  readonly service: string
  readonly title: string
  /** Host and port, without what else an address may hold. */
  readonly address: string
  /** The variable that puts it elsewhere. */
  readonly variable: string
  readonly probed: ProbeResult
}

/** All are asked at once. */
const timeoutMs = 1_500

/** Looks for models on this machine, at the usual ports or where variables say (spec R-SETUP-3). */
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
  // A name below localhost may be resolved by others.
  if (!isOnThisMachine || url.hostname.endsWith('.localhost'))
    return { kind: 'not_asked', says: 'it is not on this machine' }
  if (url.protocol !== 'http:') return { kind: 'not_asked', says: 'only http is supported on this machine' }
  if (url.username !== '' || url.password !== '')
    return { kind: 'not_asked', says: 'its address contains a user name or password' }
  return askForModels(baseUrl, timeoutMs)
}
