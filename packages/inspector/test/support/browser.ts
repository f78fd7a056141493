import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, expect, inject } from 'vitest'
import { startInspector, type Inspector, type SessionSource } from '../../src/index.ts'
import { chromiumPath, launchChromium } from './chromium.ts'

/** Whether a browser was found. Browser tests are skipped otherwise: `describe.skipIf(!isChromiumThere)`. */
export const isChromiumInstalled: boolean = chromiumPath !== undefined

export interface OpenOptions {
  /** The view: `#/session/KEY/1/plots`. The list by default. */
  readonly fragment?: string
  readonly width?: number
  readonly height?: number
  readonly isDark?: boolean
  /** A file on disk instead of a server: an exported session. */
  readonly address?: string
}

/** A page over sessions, and the problems that it had. */
export interface OpenPage {
  readonly page: Page
  /** The address with the token, without a fragment. */
  readonly url: string
  /** Every address that the page requested. */
  readonly requests: readonly string[]
  /** Console errors, uncaught errors, and requests that left the server. A test that expects one removes it. */
  readonly problems: string[]
}

/**
 * A browser for the tests of a file, started when first used and closed after them. Each page is closed after its test, which fails where the page
 * had a problem or requested anything outside its server.
 */
export function withBrowser(): (source: SessionSource, options?: OpenOptions) => Promise<OpenPage> {
  const serving: Inspector[] = []
  // The first registered clean-up runs last: a page whose server is gone has a problem.
  afterEach(async () => {
    for (const inspector of serving.splice(0)) await inspector.close()
  })
  const open = withPages()
  return async (source, { address, ...options } = {}) => {
    const inspector = await startInspector({ source, pageFolder: join(inject('program'), 'dist', 'inspector') })
    serving.push(inspector)
    return { ...(await open(address ?? inspector.url, options)), url: inspector.url }
  }
}

/** The same for pages that a server of the program serves, or that are in a file, by address without a fragment. */
export function withPages(): (address: string, options?: Omit<OpenOptions, 'address'>) => Promise<OpenPage> {
  let browser: Promise<Browser> | undefined
  const opened: { readonly context: BrowserContext; readonly problems: readonly string[] }[] = []
  afterEach(async () => {
    const pages = opened.splice(0)
    for (const { context } of pages) await context.close()
    expect(pages.flatMap(({ problems }) => problems)).toEqual([])
  })
  afterAll(async () => {
    await (await browser)?.close()
  })
  return async (address, options = {}) => {
    browser ??= launchChromium()
    const { width = 1280, height = 900, isDark = false, fragment = '#/' } = options
    const context = await (
      await browser
    ).newContext({ viewport: { width, height }, colorScheme: isDark ? 'dark' : 'light', reducedMotion: 'reduce' })
    const page = await context.newPage()
    const { origin, protocol } = new URL(address)
    const requests: string[] = []
    const problems: string[] = []
    page.on('request', (request) => {
      const asked = request.url()
      requests.push(asked)
      // A file requests nothing but itself.
      const isIts = protocol === 'file:' ? asked === address : asked.startsWith(address)
      if (!isIts && !/^(?:data|blob):/.test(asked)) problems.push(`asked for ${asked.replace(origin, '')}`)
    })
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(`console: ${message.text()}`)
    })
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
    page.on('dialog', (dialog) => {
      problems.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    context.on('page', (other) => {
      if (other !== page) problems.push(`opened ${other.url()}`)
    })
    opened.push({ context, problems })
    await page.goto(`${address}${fragment}`)
    return { page, url: address, requests, problems }
  }
}
