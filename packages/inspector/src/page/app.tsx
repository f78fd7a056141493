import type { JSX } from 'preact'
import { route } from './data/route.ts'

/** The page: which view is shown follows the address. */
export function App(): JSX.Element {
  return <main data-view={route.value.view} />
}
