import type { ToolOutput } from '@halting/core'
import { anySignal, headOf, messageOf } from '@halting/core/adapters'
import { errorResult } from '../tools/result.ts'
import { httpGet, PrivateAddressError, type Resolve, type Response } from './get.ts'
import { pageOf, type PageOptions } from './page.ts'
import * as texts from './web-fetch-texts.ts'
import { type Reach, type Target, targetOf } from './target.ts'

/** The user's decisions about the web, and replacements for tests. */
export interface WebOptions extends Reach {
  /** Resolves a host name (default: the system's resolver). */
  readonly resolve?: Resolve
  /** The clock of the cache. */
  readonly nowMs?: () => number
}

export interface FetchOptions extends Omit<PageOptions, 'url'> {
  readonly web: WebOptions
}

const maxRedirects = 5
const maxBytes = 10 * 1024 * 1024
const maxMs = 30_000

/** The result of a fetch. Only a page that exists is cached. */
export interface FetchedPage {
  readonly output: ToolOutput
  readonly isCacheable: boolean
  /** Set for an existing page with text: questions about it can be answered. */
  readonly page?: { readonly head: string; readonly text: string }
}

export async function fetchPage(address: string, options: FetchOptions): Promise<FetchedPage> {
  const first = targetOf(address, options.web)
  if (first.kind === 'refused') return not(errorResult(texts.urlRefused(headOf(address, 200), first.why)))
  const late = AbortSignal.timeout(maxMs)
  const signal = anySignal([options.signal, late])
  try {
    return await follow(first, { ...options, signal })
  } catch (thrown) {
    options.signal.throwIfAborted()
    return not(errorResult(texts.urlRefused(first.url.href, late.aborted ? texts.tooSlow(maxMs / 1000) : why(thrown))))
  }
}

function not(output: ToolOutput): FetchedPage {
  return { output, isCacheable: false }
}

function why(thrown: unknown): string {
  if (thrown instanceof PrivateAddressError) return thrown.message
  return headOf(messageOf(thrown), 300).replace(/\.$/, '')
}

type Found = Extract<Target, { readonly kind: 'target' }>

/**
 * Follows redirects within one host, and checks each target like the first address. Any other redirect is only
 * reported, because its target was not judged.
 */
async function follow(first: Found, options: FetchOptions): Promise<FetchedPage> {
  const { resolve } = options.web
  let target = first
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await httpGet(target, {
      signal: options.signal,
      maxBytes,
      ...(resolve !== undefined && { resolve }),
    })
    const { location, status } = response
    if (status < 300 || status >= 400 || location === undefined) return renderResponse(target, response, options)
    const next = targetOf(new URL(location, target.url), options.web)
    if (next.kind === 'refused')
      return not(errorResult(texts.redirectRefused(target.url.href, headOf(location, 500), next.why)))
    if (next.host !== first.host || next.url.port !== first.url.port) return not(elsewhere(target, next))
    target = next
  }
  return not(errorResult(texts.urlRefused(first.url.href, texts.tooManyRedirects(maxRedirects))))
}

function elsewhere(target: Found, next: Found): ToolOutput {
  const content = texts.redirectsElsewhere(target.url.href, next.url.href)
  return { content, details: { url: target.url.href, redirectedTo: next.url.href } }
}

async function renderResponse({ url }: Found, response: Response, options: FetchOptions): Promise<FetchedPage> {
  const { status, isCut, body } = response
  const isGood = status >= 200 && status < 300
  const page = await pageOf(response, { ...options, url: url.href })
  const details = { url: url.href, code: status, bytes: body.length }
  const head = `${url.href} (${status}${page.kind === 'refused' || page.type === '' ? '' : `, ${headOf(page.type, 100)}`})`
  const isError = !isGood
  if (page.kind === 'refused') return not(errorResult(`${head}: ${page.why}`))
  if (page.kind === 'image')
    return { output: { content: [{ type: 'text', text: head }, page.block], details, isError }, isCacheable: isGood }
  const left = page.text.length - options.maxCharacters
  const rest = left > 0 ? texts.charactersLeftOut(left) : isCut ? texts.cutAfterBytes(maxBytes) : ''
  const text = page.text.trim() === '' ? texts.emptyPage : headOf(page.text, options.maxCharacters)
  const output: ToolOutput = { content: `${head}\n\n${text}${rest}`, details, isError }
  const isAbout = isGood && page.type !== 'application/pdf' && page.text.trim() !== ''
  return { output, isCacheable: isGood, ...(isAbout && { page: { head, text: `${text}${rest}` } }) }
}
