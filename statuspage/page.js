(() => {
  "use strict";
  // The status page asks for itself again and again while it is looked at, and keeps what was opened open.
  const main = document.querySelector("main[data-refresh]");
  const refresh = async () => {
    if (document.hidden || String(getSelection())) return;
    const notice = document.getElementById("stale");
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error("the server answers " + answer.status);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = next.querySelector("main[data-refresh]");
      if (!fresh) throw new Error("the login has ended");
      const now = document.querySelector("main[data-refresh]");
      for (const open of now.querySelectorAll("details[open]")) {
        const same = open.id && fresh.querySelector("#" + CSS.escape(open.id));
        if (same) same.open = true;
      }
      const focused = document.activeElement;
      const details = focused.tagName === "SUMMARY" && focused.parentElement.id;
      if (now.contains(focused) && !details) return;
      now.replaceWith(fresh);
      if (details) document.querySelector("#" + CSS.escape(details) + " > summary")?.focus({ preventScroll: true });
      document.title = next.title;
    } catch (error) {
      if (!notice) return;
      notice.textContent = "Not up to date: " + error.message + ".";
      notice.hidden = false;
    }
  };
  if (main) setInterval(refresh, 1000 * Number(main.dataset.refresh));

  // Under the Functions host the admin key travels in a header, which a form cannot send.
  const form = document.getElementById("hosted");
  if (!form) return;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const key = document.getElementById("key");
    const says = document.getElementById("answer");
    const button = form.querySelector("button");
    button.disabled = true;
    let text, ok = false;
    try {
      const answer = await fetch(form.dataset.to, {
        method: "POST", body: new URLSearchParams(new FormData(form)), headers: { "x-functions-key": key.value }, redirect: "error",
      });
      if (answer.status === 401 || answer.status === 403) throw new Error("the host does not accept this key");
      const result = await answer.json();
      ok = answer.ok;
      text = ok ? result.done : result.error;
    } catch (error) {
      text = "Nothing is known to be done: " + error.message + ".";
    }
    key.value = "";
    button.disabled = false;
    form.hidden = ok;
    says.textContent = text;
    says.className = "answer " + (ok ? "good" : "bad");
    says.hidden = false;
  });
})();
