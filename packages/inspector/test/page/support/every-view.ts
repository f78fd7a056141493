import type { Page } from 'playwright-core'

/** A view, and the actions that make it show everything. `HOSTILE` in a fragment is the key of a hostile session. */
export interface EveryView {
  readonly fragment: string
  /** The list has hundreds of rows in addition to the sessions. */
  readonly hasRows?: true
  /** There is no session. */
  readonly isEmpty?: true
  readonly act?: (page: Page) => Promise<unknown>
}

/** Every view of the page, over the sessions of the pictures and a hostile one. */
export const everyView = {
  'the list': {
    fragment: '#/?ending=max_turns&sort=costUsd',
    hasRows: true,
    act: async (page) => {
      await page.getByRole('status').getByText('of 404 sessions').waitFor()
      await page.getByRole('grid').focus()
      await page.keyboard.press('ArrowDown')
    },
  },
  'the empty list': { fragment: '#/', isEmpty: true },
  'a session': {
    fragment: '#/session/flaky/1/timeline',
    act: async (page) => {
      await page.locator('.item-label', { hasText: 'Edit' }).first().click()
      await page.locator('.part[aria-current] details[open]').waitFor()
      await page.getByRole('button', { name: 'Zoom in' }).click()
    },
  },
  'a hostile session': {
    fragment: '#/session/HOSTILE/1/timeline',
    act: (page) => page.locator('.part summary').nth(1).click(),
  },
  'records of a session': {
    fragment: '#/session/flaky/1/timeline',
    act: async (page) => {
      await page.getByRole('tab', { name: 'Records' }).click()
      await page.locator('.records pre').first().waitFor()
    },
  },
  plots: {
    fragment: '#/session/flaky/1/plots',
    act: async (page) => {
      const context = page.getByRole('figure', { name: 'Context by kind' })
      await context.getByRole('button', { name: 'Zoom in' }).click()
      await context.getByRole('button', { name: 'Person', exact: true }).click()
    },
  },
  'plots as tables': {
    fragment: '#/session/flaky/1/plots',
    act: async (page) => {
      for (const summary of await page.getByText('As a table').all()) await summary.click()
    },
  },
  'what if': {
    fragment: '#/session/flaky/1/what-if',
    act: async (page) => {
      await page.getByLabel('Turns: turns').fill('8')
      await page.getByLabel('Dollars: US dollars').fill('0.5')
      await page.getByLabel('Time: seconds').fill('50')
    },
  },
  'what if, over all': {
    fragment: '#/what-if',
    act: async (page) => {
      await page.getByRole('button', { name: /^Read \d/ }).click()
      await page.getByText('As a table').click()
      await page
        .getByRole('row', { name: /^limit of turns 5 / })
        .getByRole('button')
        .click()
    },
  },
  'two sessions': {
    fragment: '#/compare/flaky/flaky-again',
    act: (page) => page.locator('.pair').nth(1).click(),
  },
  'a hostile session beside another one': {
    fragment: '#/compare/HOSTILE/flaky',
    act: (page) => page.locator('.pair').nth(2).click(),
  },
  keys: {
    fragment: '#/session/flaky/1/timeline',
    act: (page) => page.getByRole('button', { name: 'Keys' }).click(),
  },
} satisfies { readonly [name: string]: EveryView }

export type ViewName = keyof typeof everyView
