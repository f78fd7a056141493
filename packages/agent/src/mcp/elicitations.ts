import { randomUUID } from 'node:crypto'
import { anySignal, isJsonObject, sharedAbort } from '@halting/core/adapters'
import { pagesRefused, pagesUnusable, pageUnopened, questionUnanswered, quoted } from './elicitation-texts.ts'
import type { McpLimits } from './limits.ts'
import { timeLimit } from '../time-limit.ts'
import { rejectOnAbort } from './reject-on-abort.ts'

/** A request of an MCP server for user input. */
export interface ElicitationRequest {
  /** The question to the user. */
  readonly message: string
  /**
   * `form`: the user fills in the fields of `requestedSchema`. `url`: the user opens `url` in a browser (default:
   * `form`).
   */
  readonly mode?: 'form' | 'url'
  /** JSON Schema of the fields. */
  readonly requestedSchema?: unknown
  /**
   * An `http` or `https` address. Show the full address and its host. Do not fetch it, and open it only when the user
   * agrees.
   */
  readonly url?: string
  /** The id of the request in `url` mode. */
  readonly elicitationId?: string
  /** Aborts when the server reports that the user has finished on the page. This may be after the answer. */
  readonly completed?: AbortSignal
}

/** A user's answer to a request of an MCP server. */
export interface ElicitationAnswer {
  /** `accept` in `url` mode: the user agrees to open the page. */
  readonly action: 'accept' | 'decline' | 'cancel'
  /** The user's input by field, with `accept`. */
  readonly content?: { readonly [field: string]: string | number | boolean | readonly string[] }
}

/** Asks the user on behalf of a server. */
export type Elicit = (server: string, request: ElicitationRequest, signal: AbortSignal) => Promise<ElicitationAnswer>

interface ElicitationOptions {
  readonly server: string
  readonly limits: Pick<McpLimits, 'toolMs' | 'pageMs'>
  /** Asks the user. If absent, every request is declined. */
  readonly elicit?: Elicit | undefined
  /** Called once per question that could not be presented to a user. */
  readonly onUnanswered?: ((sentence: string) => void) | undefined
}

/** Parameters of `elicitation/create`, and elements of a refusal's `elicitations`, unchecked. */
interface RawElicitation {
  readonly message?: unknown
  readonly mode?: unknown
  readonly requestedSchema?: unknown
  readonly url?: unknown
  readonly elicitationId?: unknown
}

const longestAddress = 8_192
const maxPages = 100
const maxReports = 20
/** Maximum number of open questions. */
const maxOpen = 10
/** Number of consecutive refusals after which the user is not asked any more. */
const maxRefusals = 10

// Spec R-MCP-11.
/**
 * The requests of one server to the user. E1: each question is answered in bounded time, at the latest when its call
 * or the connection ends. E2: this class never fetches an address. E3: a server has at most `maxOpen` open questions,
 * and is declined after `maxRefusals` consecutive refusals until it is called again.
 */
export class Elicitations {
  readonly #options: ElicitationOptions
  /** Pages that the user was asked to open; aborted when the server reports that the user has finished. */
  readonly #pages = new Map<string, AbortController>()
  /** Active calls, with sentences to append to their results. */
  readonly #calls = new Set<Set<string>>()
  readonly #reported = new Set<string>()
  #lost = sharedAbort()
  /** Aborts when no call is active: questions asked during calls then no longer need an answer. */
  #calling = sharedAbort()
  #open = 0
  #refusals = 0

  constructor(options: ElicitationOptions) {
    this.#options = options
  }

  /** Answers `elicitation/create`. */
  async answer(asked: RawElicitation, signal: AbortSignal): Promise<ElicitationAnswer> {
    const request = this.#requestOf(asked)
    if (request === undefined) return { action: 'decline' }
    return this.#options.elicit === undefined ? this.#unanswered(request) : this.#put(request, signal)
  }

  /** Records that the server reports a page as finished by the user. */
  complete(elicitationId: string): void {
    this.#pages.get(elicitationId)?.abort()
  }

  /** Ends all open questions. */
  connectionLost(): void {
    this.#lost.abort(new Error('the connection ended'))
    this.#lost = sharedAbort()
  }

  /**
   * Asks the user to open the pages that the server requires before a call (error -32042), and waits up to `pageMs`
   * until the server reports completion. Returns the hosts, after which the call may be repeated, or the error of the
   * call.
   */
  async openPages(
    elicitations: unknown,
    signal: AbortSignal,
  ): Promise<{ readonly hosts: readonly string[] } | { readonly problem: string }> {
    const { server, elicit, limits } = this.#options
    const pages = Array.isArray(elicitations) ? elicitations.slice(0, maxPages) : []
    const requests = pages.map((one: unknown) =>
      isJsonObject(one) && one['mode'] === 'url' ? this.#requestOf(one) : undefined,
    )
    const hosts = [...new Set(requests.map((request) => hostOf(request?.url)))]
    if (hosts.length === 0 || hosts.includes('')) return { problem: pagesUnusable(server) }
    for (const request of requests) {
      if (request === undefined) continue
      if (elicit === undefined) this.#report(request)
      const { action } = elicit === undefined ? { action: 'decline' } : await this.#put(request, signal)
      signal.throwIfAborted()
      if (action !== 'accept')
        return { problem: pagesRefused(server, hosts, elicit === undefined ? 'no user' : 'declined') }
    }
    const finished = requests.flatMap((request) => request?.completed ?? [])
    const limit = timeLimit(limits.pageMs, anySignal([signal, this.#lost.signal]))
    await Promise.all(finished.map((completed) => rejectOnAbort(aborted(completed), limit.signal)))
      // The server reports whether the page was completed.
      .catch(() => undefined)
      .finally(() => limit.clear())
    signal.throwIfAborted()
    return { hosts }
  }

  /** Collects sentences for the result of a call: questions that could not be presented to a user. */
  watchCall(): { end(): readonly string[] } {
    const sentences = new Set<string>()
    this.#calls.add(sentences)
    this.#refusals = 0
    return {
      end: () => {
        if (this.#calls.delete(sentences) && this.#calls.size === 0) {
          this.#calling.abort(new Error('the call ended'))
          this.#calling = sharedAbort()
        }
        return [...sentences]
      },
    }
  }

  async #put(request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> {
    const { elicit, server, limits } = this.#options
    if (elicit === undefined || this.#isFlooding()) return { action: 'decline' }
    const ends = [signal, this.#lost.signal, ...(this.#calls.size > 0 ? [this.#calling.signal] : [])]
    const limit = timeLimit(limits.toolMs, anySignal(ends))
    this.#open += 1
    try {
      const { action, content } = await rejectOnAbort(elicit(server, request, limit.signal), limit.signal)
      this.#refusals = action === 'accept' ? 0 : this.#refusals + 1
      return { action, ...(request.mode === 'form' && content !== undefined && { content }) }
    } catch (thrown) {
      if (limit.signal.aborted) return { action: 'cancel' }
      throw thrown
    } finally {
      limit.clear()
      this.#open -= 1
    }
  }

  #isFlooding(): boolean {
    if (this.#open < maxOpen && this.#refusals < maxRefusals) return false
    const { server } = this.#options
    this.#reportOnce(`The MCP server ${server} asks too many questions. Some were declined without asking you.`)
    return true
  }

  /** Returns undefined for an address that a browser must not open. */
  #requestOf({
    message: question,
    mode,
    requestedSchema,
    url,
    elicitationId: id,
  }: RawElicitation): ElicitationRequest | undefined {
    const message = typeof question === 'string' ? question : ''
    if (mode !== 'url') return { mode: 'form', message, requestedSchema }
    const address = typeof url === 'string' ? addressOf(url) : undefined
    if (address === undefined) return undefined
    const elicitationId = typeof id === 'string' && id !== '' ? id : randomUUID()
    return { mode: 'url', message, url: address.href, elicitationId, completed: this.#pageOf(elicitationId).signal }
  }

  #pageOf(id: string): AbortController {
    const known = this.#pages.get(id)
    if (known !== undefined) return known
    const [oldest] = this.#pages.keys()
    if (this.#pages.size >= maxPages && oldest !== undefined) this.#pages.delete(oldest)
    const page = sharedAbort()
    this.#pages.set(id, page)
    return page
  }

  #unanswered(request: ElicitationRequest): ElicitationAnswer {
    const { server } = this.#options
    const { mode, message, url } = request
    const sentence = mode === 'url' ? pageUnopened(server, hostOf(url)) : questionUnanswered(server, message)
    for (const sentences of this.#calls) if (sentences.size < maxReports) sentences.add(sentence)
    this.#report(request)
    return { action: 'decline' }
  }

  /** Reports the question to the user who started the program, who may open the address later. */
  #report({ mode, message, url = '' }: ElicitationRequest): void {
    const { server } = this.#options
    const what = mode === 'url' ? `to open ${url} (host: ${hostOf(url)})` : quoted(message)
    this.#reportOnce(`The MCP server ${server} asked ${what}. Nobody can answer here, so it was declined.`)
  }

  #reportOnce(sentence: string): void {
    if (this.#reported.has(sentence) || this.#reported.size >= maxReports) return
    this.#reported.add(sentence)
    this.#options.onUnanswered?.(sentence)
  }
}

/**
 * Returns the address as a browser parses it, in ASCII: other programs extract a different host from some texts.
 * Undefined for an address that a browser must not open, such as one whose user name looks like a host.
 */
function addressOf(url: string): URL | undefined {
  if (url.length > longestAddress || !URL.canParse(url)) return undefined
  const address = new URL(url)
  const { protocol, username, password, href } = address
  const isPage = protocol === 'https:' || protocol === 'http:'
  return isPage && username === '' && password === '' && href.length <= longestAddress ? address : undefined
}

/** Returns the host of an address in its resolved form; '' for any other text. */
function hostOf(url: string | undefined): string {
  return url === undefined ? '' : (addressOf(url)?.host ?? '')
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
