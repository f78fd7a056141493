import type { ComponentChildren, JSX } from 'preact'

/** What went wrong, and what to do. Told to a screen reader at once. */
export function ErrorNote(props: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="note bad" role="alert">
      {props.children}
    </p>
  )
}

/** Something is being read. */
export function Busy(props: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="note soft" role="status">
      {props.children}
    </p>
  )
}
