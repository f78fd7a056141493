// What a model reads in results of MCP tools whose server asked the user something.
import { headOf, wellFormed } from '@halting/core/adapters'

const longestQuestion = 300

/** A question as one line of at most 300 characters, in quotation marks. */
export function quoted(question: string): string {
  const line = wellFormed(question).replace(/\s+/g, ' ').trim()
  return `"${line.length <= longestQuestion ? line : `${headOf(line, longestQuestion)} ...`}"`
}

/** Follows the result of a call during which the server asked a question. */
export function questionUnanswered(server: string, question: string): string {
  return `During this call the server ${server} asked the user ${quoted(question)}. No user can answer in this session, so the question was declined.`
}

/** Follows the result of a call during which the server asked the user to open a page. */
export function pageUnopened(server: string, host: string): string {
  return `During this call the server ${server} asked the user to open a page at ${host}. No user can do so in this session, so the request was declined.`
}

/** The error of a call that needs a page to be opened first. */
export function pagesRefused(server: string, hosts: readonly string[], because: 'declined' | 'no user'): string {
  const why = because === 'declined' ? 'The user did not agree.' : 'No user can do so in this session.'
  const next =
    because === 'declined'
      ? 'Ask the user before you call this tool again.'
      : 'Do not call this tool again; continue without it and report this in your answer.'
  return `The server ${server} did not run this call. It first needs the user to open a page at ${hosts.join(' and ')}. ${why} ${next}`
}

/** The error of a call that was made again after the user agreed to open the pages. */
export function pagesUnfinished(server: string, hosts: readonly string[]): string {
  return `The server ${server} did not run this call. The user agreed to open a page at ${hosts.join(' and ')} but has not finished there. Ask the user to finish, then call this tool again.`
}

/** The error of a call that needs pages whose addresses cannot be shown. */
export function pagesUnusable(server: string): string {
  return `The server ${server} did not run this call. It asked the user to open a page, but gave no valid http or https address. Do not call this tool again with this input.`
}
