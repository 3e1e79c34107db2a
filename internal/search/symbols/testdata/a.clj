; (defn fake [])
(ns app.core)
(defn handle [req] ; DEF function handle
  1)
(def limit 10) ; DEF var limit
(defmacro when-let [x] x) ; DEF macro when-let
