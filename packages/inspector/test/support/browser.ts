import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, expect, inject } from 'vitest'
import { startInspector, type SessionSource } from '../../src/index.ts'
import { chromiumPath, launchChromium } from './chromium.ts'

/** Tests in a browser are left out, by name, where there is none: `describe.skipIf(!isChromiumThere)`. */
export const isChromiumThere: boolean = chromiumPath !== undefined

export interface OpenOptions {
  /** The view: `#/session/KEY/1/plots`. The list unless said otherwise. */
  readonly fragment?: string
  readonly width?: number
  readonly height?: number
  readonly isDark?: boolean
  /** A file on disk instead of a server: an exported session. */
  readonly address?: string
}

/** A page over sessions, and what it did that it should not. */
export interface OpenPage {
  readonly page: Page
  /** The address with the token, without a fragment. */
  readonly url: string
  /** Every address that the page asked for. */
  readonly requests: readonly string[]
  /** Errors in the console, errors that nobody caught, and requests that left the server. A test that expects one takes it out. */
  readonly problems: string[]
}

/**
 * A browser for the tests of a file: made when first used, ended after them. Each page is closed after its test, which fails where the page had a problem
 * or asked for anything outside of its server.
 */
export function withBrowser(): (source: SessionSource, options?: OpenOptions) => Promise<OpenPage> {
  let browser: Promise<Browser> | undefined
  const opened: { readonly close: () => Promise<void>; readonly problems: readonly string[] }[] = []
  afterEach(async () => {
    const pages = opened.splice(0)
    for (const { close } of pages) await close()
    expect(pages.flatMap(({ problems }) => problems)).toEqual([])
  })
  afterAll(async () => {
    await (await browser)?.close()
  })
  return async (source, options = {}) => {
    browser ??= launchChromium()
    const pageFolder = join(inject('program'), 'dist', 'inspector')
    const inspector = await startInspector({ source, pageFolder })
    const { width = 1280, height = 900, isDark = false, fragment = '#/', address } = options
    const context = await (
      await browser
    ).newContext({ viewport: { width, height }, colorScheme: isDark ? 'dark' : 'light', reducedMotion: 'reduce' })
    const page = await context.newPage()
    const { origin } = new URL(inspector.url)
    const requests: string[] = []
    const problems: string[] = []
    page.on('request', (request) => {
      const asked = request.url()
      requests.push(asked)
      const isOwn = asked.startsWith(inspector.url) || /^(?:data|blob):/.test(asked) || asked === address
      if (!isOwn) problems.push(`asked for ${asked.replace(origin, '')}`)
    })
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(`console: ${message.text()}`)
    })
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
    page.on('dialog', (dialog) => {
      problems.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    opened.push({
      problems,
      close: async () => {
        await context.close()
        await inspector.close()
      },
    })
    await page.goto(`${address ?? inspector.url}${fragment}`)
    return { page, url: inspector.url, requests, problems }
  }
}
