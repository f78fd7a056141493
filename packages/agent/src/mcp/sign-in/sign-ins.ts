import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AuthorizationServerMetadata,
  computeScopeUnion,
  type OAuthClientInformationMixed,
  type OAuthTokens,
} from '@modelcontextprotocol/client'
import { codeOf, isJsonObject } from '@halting/core/adapters'
import { makeDurableFolder, partOf, writeWhole } from '@halting/journal/files'
import { lockFile } from '@halting/policy'

/** What a person is known by at one server: who gave it, and what renews it. */
export interface SignIn {
  /** The server's own address. What is kept here is shown to no other. */
  readonly url: string
  /** Address of the server that gives tokens. */
  readonly authorizationServer: string
  /** What the authorization server says about itself. */
  readonly metadata?: AuthorizationServerMetadata | undefined
  /** What the tokens are for, in the words of the server. */
  readonly resource?: string | undefined
  /** How this program is registered there. */
  readonly client: OAuthClientInformationMixed
  /** The tokens. */
  readonly tokens: OAuthTokens
  /** The scope that was asked for: a new sign-in asks for no less. */
  readonly scope?: string | undefined
  /** The scope that the server wanted since, beyond that. */
  readonly wantedScope?: string | undefined
  /** By the clock of this machine; absent where the server said nothing. */
  readonly expiresAtMs?: number
}

const longestScope = 4_000

/**
 * The sign-ins of a person, a file each.
 * I1: a sign-in is found by the whole address of its server: another address has none of it, whatever its name.
 * I2: files and folder are for the person alone. I3: one process at a time changes one.
 */
export class SignIns {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The sign-in at a server; undefined for none. */
  async find(url: string): Promise<SignIn | undefined> {
    try {
      const content: unknown = JSON.parse(await readFile(this.#fileOf(url), 'utf8'))
      return isSignIn(content) && content.url === addressOf(url) ? content : undefined
    } catch (thrown) {
      // What cannot be read is no sign-in; a new one takes its place.
      if (codeOf(thrown) === 'ENOENT' || thrown instanceof SyntaxError) return undefined
      throw new Error('its sign-in cannot be read', { cause: thrown })
    }
  }

  /** Stores a sign-in, in place of the former. */
  async keep(signIn: SignIn): Promise<void> {
    await makeDurableFolder(this.#folder)
    const content: SignIn = { ...signIn, url: addressOf(signIn.url) }
    await writeWhole(this.#fileOf(signIn.url), `${JSON.stringify(content, undefined, 2)}\n`)
  }

  /** Notes what the server wants more, for the next sign-in. Without a sign-in there is nothing to note it in. */
  async want(url: string, scope: string): Promise<void> {
    await this.locked(url, async () => {
      const found = await this.find(url)
      const wantedScope = computeScopeUnion(found?.wantedScope, scope) ?? ''
      // A server may name another scope at each call: an address with all of them leads nowhere.
      if (found !== undefined && wantedScope.length <= longestScope) await this.keep({ ...found, wantedScope })
    })
  }

  /** Gives whether there was one. */
  async forget(url: string): Promise<boolean> {
    const file = this.#fileOf(url)
    // What a process that was killed was writing.
    await rm(partOf(file), { force: true })
    try {
      await rm(file)
      return true
    } catch (thrown) {
      if (codeOf(thrown) === 'ENOENT') return false
      throw thrown
    }
  }

  /** Does work while no other process changes the sign-in of this server. */
  async locked<T>(url: string, work: () => Promise<T>): Promise<T> {
    await makeDurableFolder(this.#folder)
    const release = await lockFile(`${this.#fileOf(url)}.lock`, 'this sign-in')
    try {
      return await work()
    } finally {
      await release()
    }
  }

  #fileOf(url: string): string {
    return join(this.#folder, `${createHash('sha256').update(addressOf(url)).digest('hex').slice(0, 32)}.json`)
  }
}

/** One address in one form. A server has no part of it behind the `#`. */
function addressOf(given: string): string {
  const url = new URL(given)
  url.hash = ''
  return url.href
}

function isSignIn(content: unknown): content is SignIn {
  if (!isJsonObject(content)) return false
  const { url, authorizationServer, client, tokens } = content
  return (
    typeof url === 'string' &&
    typeof authorizationServer === 'string' &&
    isJsonObject(client) &&
    typeof client['client_id'] === 'string' &&
    isJsonObject(tokens) &&
    typeof tokens['access_token'] === 'string'
  )
}
