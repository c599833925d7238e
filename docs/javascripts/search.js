// The search reads its field after a key is released. Text that comes without a key (pasted with the mouse, dictated) counts, too.
document.addEventListener("input", event => {
  if (event.target.matches(".md-search__input")) {
    event.target.dispatchEvent(new KeyboardEvent("keyup"))
  }
})
