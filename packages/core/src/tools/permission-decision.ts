/** What the rules say about a call. */
export type PermissionDecision =
  | { readonly behavior: 'allow'; readonly updatedInput?: unknown }
  /** The message goes to the model: it says which rule would allow the call. */
  | { readonly behavior: 'deny'; readonly message: string }
  /** A person has to say. With nobody there the run ends as `needs_approval`. */
  | { readonly behavior: 'ask'; readonly message: string }
